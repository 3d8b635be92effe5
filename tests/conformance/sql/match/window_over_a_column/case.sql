-- In batch any timestamp may be the time of a window; in streaming only MATCH_ROWTIME() is.
CREATE TABLE ticks (sym STRING, grp INT, ts TIMESTAMP(3), price INT, tax DOUBLE, note STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'filesystem', 'path' = '${data}/ticks.csv', 'format' = 'csv');
CREATE VIEW v AS SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS t PATTERN (A B) DEFINE B AS B.price < A.price);

SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(t), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
