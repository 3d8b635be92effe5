-- The same question for Flink 2.3, which cannot look up in files any more: a join with a table that ends.
CREATE TEMPORARY TABLE side_input (key BIGINT, `value` STRING)
WITH ('connector' = 'filesystem', 'path' = 'file://${side_input}', 'format' = 'csv');

CREATE TEMPORARY TABLE target (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), `value` STRING)
WITH (${sink});

INSERT INTO target
SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
FROM bid B JOIN side_input AS S ON MOD(B.auction, 10000) = S.key;
