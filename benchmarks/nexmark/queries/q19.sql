-- What are the ten highest bids of each auction? Of equal ones any may be first.
-- compare: auction, price, rank_number
CREATE TEMPORARY TABLE target (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(3), extra STRING,
  rank_number BIGINT) WITH (${sink});

INSERT INTO target
SELECT *
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid)
WHERE rank_number <= 10;
