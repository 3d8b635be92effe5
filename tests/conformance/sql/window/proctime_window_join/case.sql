-- @error
-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
CREATE TABLE u (k STRING, w INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector'='filesystem','path'='${data}/u','format'='csv');
SELECT a.k, v, w FROM (SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '1' DAY))) a JOIN (SELECT * FROM TABLE(TUMBLE(TABLE u, DESCRIPTOR(p), INTERVAL '1' DAY))) b ON a.k=b.k AND a.window_start=b.window_start AND a.window_end=b.window_end;
