-- What does reading and writing cost, with nothing between? All bids.
CREATE TEMPORARY TABLE target (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra STRING)
WITH (${sink});

INSERT INTO target SELECT auction, bidder, price, `dateTime`, extra FROM bid;
