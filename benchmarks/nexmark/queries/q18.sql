-- What was the last bid of each person on each auction? Two of one millisecond: any of them.
-- compare: bidder, auction, dateTime
CREATE TEMPORARY TABLE target (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(3), extra STRING)
WITH (${sink});

INSERT INTO target
SELECT auction, bidder, price, channel, url, `dateTime`, extra
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS rank_number FROM bid)
WHERE rank_number <= 1;
