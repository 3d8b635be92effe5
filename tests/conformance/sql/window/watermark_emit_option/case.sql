-- @modes: streaming
CREATE TABLE s (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector'='filesystem','path'='${data}/t','format'='csv','scan.watermark.emit.strategy'='on-event');
SELECT k FROM s;
