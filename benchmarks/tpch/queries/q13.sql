-- How many customers have how many orders, those without one too: an outer join, LIKE, groups of groups.
SELECT order_count, COUNT(*) AS customers
FROM (
  SELECT c_custkey, COUNT(o_orderkey) AS order_count
  FROM customer
  LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
  GROUP BY c_custkey
) AS per_customer
GROUP BY order_count
ORDER BY customers DESC, order_count DESC
