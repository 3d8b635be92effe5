-- Columns of a variable without rows are NULL.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES COALESCE(B.price, -1) AS b, B.note IS NULL AS n, A.price AS a, C.price AS c, CASE WHEN B.price > 10 THEN 'big' ELSE 'no' END AS k PATTERN (A B? C) DEFINE B AS B.price > A.price, C AS C.price < A.price
) AS m;
