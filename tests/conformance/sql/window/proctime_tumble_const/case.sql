-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT COUNT(*) FROM TABLE(TUMBLE((SELECT k, PROCTIME() p FROM t), DESCRIPTOR(p), INTERVAL '1' DAY)) GROUP BY window_start, window_end;
