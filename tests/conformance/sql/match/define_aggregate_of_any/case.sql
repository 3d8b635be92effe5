-- An aggregate without a variable is over all rows so far.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES COUNT(*) AS n, SUM(A.price) AS s, C.price AS c AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ C) DEFINE A AS SUM(price) < 60
) AS m;
