-- @error
-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
CREATE TABLE u (k STRING, w INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector'='filesystem','path'='${data}/u','format'='csv');
SELECT t.k, v, w FROM (SELECT k, v FROM t WHERE v > 1) t, LATERAL (SELECT w FROM u WHERE u.k = t.k ORDER BY w DESC LIMIT 1);
