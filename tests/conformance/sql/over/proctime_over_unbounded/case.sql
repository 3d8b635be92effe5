-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY p) , COUNT(*) OVER (PARTITION BY k ORDER BY p) FROM t;
