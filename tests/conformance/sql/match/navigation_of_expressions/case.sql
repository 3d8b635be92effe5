-- FIRST and LAST of expressions.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES FIRST(A.price * A.tax, 1) AS x, LAST(A.price + 1, 2) AS y, LAST(A.note) || '-' || B.note AS z PATTERN (A{3} B) DEFINE B AS B.price < 30
) AS m;
