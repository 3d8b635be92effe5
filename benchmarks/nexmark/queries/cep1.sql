-- For how long did the average of a person's bids on an auction stay below 10,000? Periods do not overlap.
CREATE TEMPORARY TABLE target (
  auction BIGINT, bidder BIGINT, since TIMESTAMP(3), until TIMESTAMP(3), average BIGINT)
WITH (${sink});

INSERT INTO target
SELECT auction, bidder, since, until, average
FROM bid MATCH_RECOGNIZE (
  PARTITION BY auction, bidder
  ORDER BY `dateTime`
  MEASURES FIRST(LOW.`dateTime`) AS since, LAST(LOW.`dateTime`) AS until, AVG(LOW.price) AS average
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (LOW+ HIGH)
  DEFINE LOW AS AVG(LOW.price) < 10000);
