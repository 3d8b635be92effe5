-- Rows are taken back that never came: a group that has no rows ignores it, another one counts down.
-- @modes: streaming
CREATE TABLE t (id INT, k STRING, v INT) WITH ('connector'='filesystem','path'='${data}','format'='debezium-json');
SELECT k, MIN(v) AS lo, MAX(v) AS hi FROM t GROUP BY k;
