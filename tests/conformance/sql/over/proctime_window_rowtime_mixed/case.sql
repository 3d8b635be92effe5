-- @error
-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts), SUM(v) OVER (PARTITION BY k ORDER BY p) FROM t;
