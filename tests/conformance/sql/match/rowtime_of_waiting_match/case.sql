-- The time of matches that had to wait for an older partial match.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES MATCH_ROWTIME() AS rt, A.ts AS a, LAST(B.ts) AS b PATTERN (A B+ C) WITHIN INTERVAL '20' SECOND DEFINE B AS B.price < A.price, C AS C.price > 20
) AS m;
