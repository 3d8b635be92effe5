-- @clock: rows of one instant are kept in order of arrival, but how many share an instant is chance
-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, v FROM t ORDER BY p DESC LIMIT 2;
