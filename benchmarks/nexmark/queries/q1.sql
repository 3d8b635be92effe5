-- What are the prices of all bids in euros?
CREATE TEMPORARY TABLE target (auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), `dateTime` TIMESTAMP(3), extra STRING)
WITH (${sink});

INSERT INTO target SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra FROM bid;
