-- PREV with offset 0 is the row itself.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES A.price AS x PATTERN (A B) DEFINE B AS PREV(B.price, 0) > 20
) AS m;
