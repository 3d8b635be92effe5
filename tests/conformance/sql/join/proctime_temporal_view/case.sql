-- @error
-- @modes: streaming
CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
CREATE TABLE u (k STRING, w INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector'='filesystem','path'='${data}/u','format'='csv');
CREATE VIEW ux AS SELECT k, w, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) rn FROM u) WHERE rn=1;
SELECT t.k, v, x.w FROM t JOIN ux FOR SYSTEM_TIME AS OF t.p AS x ON t.k=x.k;
