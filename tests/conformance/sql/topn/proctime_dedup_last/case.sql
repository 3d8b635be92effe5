-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) rn FROM t) WHERE rn = 1;
