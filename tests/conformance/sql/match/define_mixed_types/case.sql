-- DOUBLE, DECIMAL and casts over rows of two variables.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES A.tax AS a, B.tax AS b PATTERN (A B) DEFINE B AS B.tax * 2 > A.tax + 0.5 AND CAST(A.price AS DOUBLE) / 3 < B.price
) AS m;
