-- A window Top-N behind renamed columns.
SELECT w, auction, price FROM (
  SELECT ws AS w, auction, price, n FROM (
    SELECT window_start AS ws, window_end AS we, auction, price,
      ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS n
    FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND))))
WHERE n <= 3 AND price > 0
