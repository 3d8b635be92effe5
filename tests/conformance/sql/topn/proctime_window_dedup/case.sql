-- @error
-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY p) rn FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '1' DAY))) WHERE rn <= 1;
