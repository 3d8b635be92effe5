-- A subquery as the input.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM (SELECT sym, ts, price * 2 AS p2 FROM ticks WHERE price > 8) MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES A.p2 AS a, B.p2 AS b PATTERN (A B) DEFINE B AS B.p2 > A.p2
) AS m;
