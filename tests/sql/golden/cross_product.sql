-- Nothing connects the tables: a warning names them.
SELECT p.name, a.item FROM persons p, auctions a WHERE p.id > a.seller
