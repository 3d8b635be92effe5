-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
CREATE TABLE u (k STRING, w INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector'='filesystem','path'='${data}/u','format'='csv');
SELECT k, v, k NOT IN (SELECT k FROM u WHERE w > 25) AS e FROM t;
