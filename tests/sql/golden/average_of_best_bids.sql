-- A comma join under two aggregates: its key is an equality of WHERE, the bounds are a filter behind it.
SELECT category, AVG(best) FROM (
  SELECT MAX(b.price) AS best, a.category FROM auctions a, bids b
  WHERE a.id = b.auction AND b.ts BETWEEN a.ts AND a.expires
  GROUP BY a.id, a.category)
GROUP BY category
