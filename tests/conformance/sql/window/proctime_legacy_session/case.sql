-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, COUNT(*) FROM t GROUP BY k, SESSION(p, INTERVAL '1' DAY);
