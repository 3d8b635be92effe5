-- What is the average winning price of each seller's last 10 auctions? Flink cannot run it: its OVER takes no updates.
CREATE TEMPORARY TABLE target (seller BIGINT, avg_price BIGINT) WITH (${sink});

INSERT INTO target
SELECT Q.seller,
  AVG(Q.price) OVER (PARTITION BY Q.seller ORDER BY Q.`dateTime` ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
FROM (
  SELECT id, seller, price, `dateTime`
  FROM (
    SELECT A.id, A.seller, B.price, B.`dateTime`,
      ROW_NUMBER() OVER (PARTITION BY A.id, A.seller ORDER BY B.price DESC) AS rownum
    FROM auction AS A, bid AS B
    WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires)
  WHERE rownum <= 1
) AS Q;
