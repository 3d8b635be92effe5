-- Which bids are on certain auctions, and at what price?
CREATE TEMPORARY TABLE target (auction BIGINT, price BIGINT) WITH (${sink});

INSERT INTO target SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
