-- Division and ABS over rows of two variables.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES A.price AS a, B.price AS b PATTERN (A B) DEFINE B AS A.price / B.price >= 1 AND ABS(A.price - B.price) < 7
) AS m;
