-- An uncorrelated COUNT over no rows has no row yet, so the subquery is NULL; before and after a row was there.
-- @modes: streaming
CREATE TABLE t (x INT) WITH ('connector'='filesystem','path'='${data}/t.jsonl','format'='debezium-json');
CREATE TABLE e (x INT) WITH ('connector'='filesystem','path'='${data}/e.jsonl','format'='debezium-json');
SELECT x, (SELECT COUNT(*) FROM e) AS n FROM t;
