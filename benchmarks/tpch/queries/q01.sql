-- Prices per return flag and line status of what was shipped long ago: one scan, wide aggregates, four groups.
SELECT
  l_returnflag,
  l_linestatus,
  SUM(l_quantity) AS quantity,
  SUM(l_extendedprice) AS base_price,
  SUM(l_extendedprice * (1 - l_discount)) AS discounted_price,
  SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charge,
  AVG(l_quantity) AS average_quantity,
  AVG(l_extendedprice) AS average_price,
  AVG(l_discount) AS average_discount,
  COUNT(*) AS line_items
FROM lineitem
WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus
