-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, c FROM (SELECT k, c, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) rn FROM (SELECT k, COUNT(*) c, PROCTIME() AS p FROM t GROUP BY k)) WHERE rn=1;
