-- MATCH_ROWTIME(ts) of a TIMESTAMP_LTZ.
-- @error
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP_LTZ(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES MATCH_ROWTIME(ts) AS rt, A.price AS a PATTERN (A B) DEFINE B AS B.price < A.price
) AS m;
