-- A reluctant range takes as few as it can.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES COUNT(A.price) AS n, B.price AS b AFTER MATCH SKIP PAST LAST ROW PATTERN (A{1,3}? B) DEFINE A AS A.price > 8, B AS B.price > 10
) AS m;
