-- DISTINCT aggregates.
-- @error
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES COUNT(DISTINCT A.price) AS x, B.price AS b PATTERN (A+ B) DEFINE A AS A.price > 12, B AS B.price <= 12
) AS m;
