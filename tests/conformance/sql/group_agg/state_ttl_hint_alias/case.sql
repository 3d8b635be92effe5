-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT /*+ STATE_TTL('x'='1d') */ k, COUNT(*) FROM t AS x GROUP BY k;
