-- How many bids did each person make in each 10 seconds of processing time? Windows fall where the clock says.
-- compare: bidder
-- total: bid_count
CREATE TEMPORARY TABLE target (bidder BIGINT, bid_count BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3))
WITH (${sink});

CREATE TEMPORARY VIEW B AS SELECT *, PROCTIME() AS p_time FROM bid;

INSERT INTO target
SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TABLE(TUMBLE(TABLE B, DESCRIPTOR(p_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
