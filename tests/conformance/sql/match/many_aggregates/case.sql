-- Aggregates of several types over one variable.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES AVG(A.tax) AS av, STDDEV_POP(A.tax) AS sd, MIN(A.note) AS mn, MAX(A.ts) AS mx, SUM(A.tax) AS s, COUNT(A.note) AS n, AVG(A.price) AS ap AFTER MATCH SKIP PAST LAST ROW PATTERN (A{4} B) DEFINE B AS B.price < 30
) AS m;
