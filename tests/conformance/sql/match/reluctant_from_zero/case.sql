-- A reluctant range from zero.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES COUNT(A.price) AS n, B.price AS b, C.price AS c PATTERN (C A{0,2}? B) DEFINE A AS A.price > 10, B AS B.price <= 18
) AS m;
