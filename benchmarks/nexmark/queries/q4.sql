-- What is the average of the winning bids of each category? A comma join with its conditions in WHERE.
CREATE TEMPORARY TABLE target (id BIGINT, final BIGINT) WITH (${sink});

INSERT INTO target
SELECT Q.category, AVG(Q.final)
FROM (
  SELECT MAX(B.price) AS final, A.category
  FROM auction A, bid B
  WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
  GROUP BY A.id, A.category
) Q
GROUP BY Q.category;
