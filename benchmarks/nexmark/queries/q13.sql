-- What does a small table of files say about each bid? A lookup; 'lookup.cache' is what lets penstock look files up.
CREATE TEMPORARY TABLE side_input (key BIGINT, `value` STRING)
WITH ('connector' = 'filesystem', 'path' = 'file://${side_input}', 'format' = 'csv', 'lookup.cache' = 'FULL');

CREATE TEMPORARY TABLE target (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), `value` STRING)
WITH (${sink});

INSERT INTO target
SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
FROM (SELECT *, PROCTIME() AS p_time FROM bid) B
JOIN side_input FOR SYSTEM_TIME AS OF B.p_time AS S ON MOD(B.auction, 10000) = S.key;
