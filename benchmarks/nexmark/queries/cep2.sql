-- The same periods, but each bid may begin one: they overlap.
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
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (LOW+ HIGH)
  DEFINE LOW AS AVG(LOW.price) < 10000);
