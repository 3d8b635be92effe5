-- Which bids of a person on an auction were more than 50 below one that was made less than five seconds before?
CREATE TEMPORARY TABLE target (auction BIGINT, bidder BIGINT, dropped TIMESTAMP(3), difference BIGINT)
WITH (${sink});

INSERT INTO target
SELECT auction, bidder, dropped, difference
FROM bid MATCH_RECOGNIZE (
  PARTITION BY auction, bidder
  ORDER BY `dateTime`
  MEASURES LOW.`dateTime` AS dropped, HIGH.price - LOW.price AS difference
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (HIGH SIMILAR_BID* LOW) WITHIN INTERVAL '5' SECOND
  DEFINE
    SIMILAR_BID AS SIMILAR_BID.price > HIGH.price - 50,
    LOW AS LOW.price < HIGH.price - 50);
