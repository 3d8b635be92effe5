-- How many suppliers offer parts of some sizes, without those whose comment warns: COUNT(DISTINCT), NOT IN, many groups.
SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS suppliers
FROM partsupp
JOIN part ON p_partkey = ps_partkey
WHERE p_brand <> 'Brand#45'
  AND p_type NOT LIKE 'MEDIUM POLISHED%'
  AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
  AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%unusual%requests%')
GROUP BY p_brand, p_type, p_size
ORDER BY suppliers DESC, p_brand, p_type, p_size
LIMIT 100
