-- GROUP BY over matches.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT sym, COUNT(*) AS n, MAX(b - a) AS d FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES A.price AS a, B.price AS b PATTERN (A B) DEFINE B AS B.price > A.price
) AS m GROUP BY sym;
