-- A function of rows of two variables.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');

SELECT * FROM ticks MATCH_RECOGNIZE (
PARTITION BY sym ORDER BY ts
MEASURES A.ts AS a, B.ts AS b PATTERN (A B) DEFINE B AS TIMESTAMPDIFF(SECOND, A.ts, B.ts) < 5 AND CHAR_LENGTH(A.note) <= CHAR_LENGTH(B.note)
) AS m;
