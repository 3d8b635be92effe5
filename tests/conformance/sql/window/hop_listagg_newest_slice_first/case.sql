-- LISTAGG over hopping windows: the newest slice comes first.
-- @modes: streaming
CREATE TABLE orders (id INT, who STRING, item STRING, price DOUBLE, qty INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '30' SECOND) WITH ('connector'='filesystem','path'='${data}/orders.jsonl','format'='json');
SELECT window_start, window_end, COUNT(DISTINCT who) d, LISTAGG(item) FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTES, INTERVAL '3' MINUTES)) GROUP BY window_start, window_end;
