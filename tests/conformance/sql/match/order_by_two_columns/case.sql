-- Rows of the same time are ordered by the second column.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
ORDER BY ts, price DESC MEASURES A.price AS a, B.price AS b, B.ts AS t PATTERN (A B) DEFINE B AS B.ts = A.ts
) AS m;
