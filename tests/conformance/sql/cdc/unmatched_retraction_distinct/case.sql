-- Rows are taken back that never came: a group that has no rows ignores it, another one counts down.
-- @modes: streaming
CREATE TABLE t (id INT, k STRING, v INT) WITH ('connector'='filesystem','path'='${data}','format'='debezium-json');
SELECT DISTINCT k FROM t;
