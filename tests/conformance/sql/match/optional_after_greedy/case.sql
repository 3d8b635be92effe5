-- An optional variable behind a greedy one.
-- @error
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES C.price AS b PATTERN (A+ B? C) DEFINE A AS A.price > 15, B AS B.price < 10, C AS C.price < 20
) AS m;
