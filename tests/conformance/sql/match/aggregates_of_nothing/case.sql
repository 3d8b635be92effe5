-- SUM of no rows is NULL, COUNT is 0.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES SUM(B.price) AS s, COUNT(B.price) AS n, MAX(B.tax) AS m, A.price AS a PATTERN (A B* C) DEFINE B AS B.price > 20, C AS C.price < A.price
) AS m;
