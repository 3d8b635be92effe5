-- The first two tables have nothing in common; the third one connects them.
SELECT p.name, b.price FROM persons p, bids b, auctions a WHERE a.seller = p.id AND b.auction = a.id
