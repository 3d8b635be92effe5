-- Time bounds in WHERE make an interval join, which forgets.
SELECT a.id, b.price FROM auctions a, bids b
WHERE a.id = b.auction AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' MINUTE AND b.price > 100
