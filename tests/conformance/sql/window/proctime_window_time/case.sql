-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, window_time IS NOT NULL FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '1' DAY));
