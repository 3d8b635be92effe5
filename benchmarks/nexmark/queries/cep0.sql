-- When did a person's bids on an auction fall, reach their bottom, and rise again?
CREATE TEMPORARY TABLE target (
  auction BIGINT, bidder BIGINT, fell TIMESTAMP(3), bottom TIMESTAMP(3), rose TIMESTAMP(3))
WITH (${sink});

INSERT INTO target
SELECT auction, bidder, fell, bottom, rose
FROM bid MATCH_RECOGNIZE (
  PARTITION BY auction, bidder
  ORDER BY `dateTime`
  MEASURES F.`dateTime` AS fell, LAST(DOWN.`dateTime`) AS bottom, LAST(UP.`dateTime`) AS rose
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST UP
  PATTERN (F DOWN+ UP)
  DEFINE
    DOWN AS (LAST(DOWN.price, 1) IS NULL AND DOWN.price < F.price) OR DOWN.price < LAST(DOWN.price, 1),
    UP AS UP.price > LAST(DOWN.price, 1));
