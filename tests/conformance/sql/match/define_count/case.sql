-- COUNT, MIN and MAX in DEFINE include the row at hand.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES COUNT(A.price) AS n, B.price AS y AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B) DEFINE A AS COUNT(A.price) <= 3 AND MAX(A.price) - MIN(A.price) < 15
) AS m;
