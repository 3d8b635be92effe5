-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
CREATE TABLE u (k STRING, w INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector'='filesystem','path'='${data}/u','format'='csv');
SELECT k, v FROM t WHERE v = 2 OR EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.w > 25);
