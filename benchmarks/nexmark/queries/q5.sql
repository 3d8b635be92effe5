-- Which auctions had the most bids in the last 10 seconds, asked every 2 seconds?
CREATE TEMPORARY TABLE target (auction BIGINT, num BIGINT) WITH (${sink});

INSERT INTO target
SELECT counts.auction, counts.num
FROM (
  SELECT auction, COUNT(*) AS num, window_start AS starttime, window_end AS endtime
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
) AS counts
JOIN (
  SELECT MAX(each_auction.num) AS maxn, each_auction.starttime, each_auction.endtime
  FROM (
    SELECT COUNT(*) AS num, window_start AS starttime, window_end AS endtime
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
  ) AS each_auction
  GROUP BY each_auction.starttime, each_auction.endtime
) AS highest
ON counts.starttime = highest.starttime AND counts.endtime = highest.endtime AND counts.num >= highest.maxn;
