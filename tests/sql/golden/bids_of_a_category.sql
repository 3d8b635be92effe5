-- One side is wide and shown as it is, the other one filtered.
SELECT b.*, a.item, a.category FROM bids b JOIN auctions a ON b.auction = a.id WHERE a.category = 10
