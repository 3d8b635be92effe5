-- FIRST in DEFINE, with an offset too.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES FIRST(A.price) AS x, COUNT(A.price) AS n, B.price AS y AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B) DEFINE A AS A.price <= FIRST(A.price) + 5, B AS B.price > FIRST(A.price, 1)
) AS m;
