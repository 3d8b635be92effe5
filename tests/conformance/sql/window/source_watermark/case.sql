-- @error
-- A file source makes no watermarks of its own.
-- @modes: streaming
CREATE TABLE s (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()) WITH ('connector'='filesystem','path'='${data}/t','format'='csv');
SELECT k, v FROM s;
