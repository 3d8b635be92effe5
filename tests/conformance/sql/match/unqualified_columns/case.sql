-- Columns without a variable are those of the last row of all.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES price AS p, COUNT(*) AS n, SUM(price) AS s, FIRST(price) AS f, LAST(price,1) AS l, AVG(tax) AS t AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE A AS price < 20, B AS price < 25, C AS price > 10
) AS m;
