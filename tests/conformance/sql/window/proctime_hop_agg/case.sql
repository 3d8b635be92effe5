-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, COUNT(*) FROM TABLE(HOP(TABLE t, DESCRIPTOR(p), INTERVAL '1' DAY, INTERVAL '2' DAY)) GROUP BY k, window_start, window_end;
