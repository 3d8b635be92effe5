-- BETWEEN, IN, LIKE and MOD over rows of several variables.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES A.price AS a, B.price AS b PATTERN (A B C) DEFINE B AS B.price BETWEEN A.price AND A.price + 8, C AS C.price NOT IN (A.price, B.price) AND (C.note LIKE 'y%' OR UPPER(B.note) = 'ZZZ' OR MOD(A.price, 2) = 0)
) AS m;
