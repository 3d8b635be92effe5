-- Names of variables may be quoted.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES `a b`.price AS x, B.price AS y PATTERN (`a b` B) DEFINE B AS B.price > `a b`.price
) AS m;
