-- LISTAGG over a variable.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES LISTAGG(A.note) AS l, LISTAGG(A.note, ';') AS l2 AFTER MATCH SKIP PAST LAST ROW PATTERN (A{3} B) DEFINE B AS B.price < 30
) AS m;
