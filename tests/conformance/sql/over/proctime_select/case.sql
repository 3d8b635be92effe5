-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, p IS NOT NULL, CAST(p AS STRING) IS NOT NULL, p > TIMESTAMP '2000-01-01 00:00:00' FROM t;
