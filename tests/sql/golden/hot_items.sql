-- The counts per window are read twice and computed once.
SELECT c.auction, c.num FROM
  (SELECT auction, COUNT(*) AS num, window_start, window_end
   FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
   GROUP BY auction, window_start, window_end) AS c,
  (SELECT MAX(num) AS most, window_start, window_end FROM
    (SELECT auction, COUNT(*) AS num, window_start, window_end
     FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
     GROUP BY auction, window_start, window_end)
   GROUP BY window_start, window_end) AS m
WHERE c.window_start = m.window_start AND c.window_end = m.window_end AND c.num >= m.most
