-- A row behind the watermark is late for a key that was looked at when it should have been forgotten.
-- @modes: streaming
CREATE TABLE orders (id INT, who STRING, item STRING, price DOUBLE, qty INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '30' SECOND) WITH ('connector'='filesystem','path'='${data}/orders.jsonl','format'='json');
SELECT id, who, SUM(qty) OVER (PARTITION BY who ORDER BY ts RANGE BETWEEN INTERVAL '3' MINUTE PRECEDING AND CURRENT ROW) s FROM orders;
