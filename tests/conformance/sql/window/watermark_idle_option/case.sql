-- @modes: streaming
CREATE TABLE s (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv','scan.watermark.idle-timeout'='1s');
SELECT k FROM s;
