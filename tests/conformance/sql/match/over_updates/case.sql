-- Rows that are updated have no order in streaming.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM (SELECT sym, MAX(ts) AS ts, COUNT(*) AS n FROM ticks GROUP BY sym) MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts MEASURES A.n AS a PATTERN (A B) DEFINE B AS B.n > 1
) AS m;
