-- Conditions on both sides go below the join, which keeps the few columns that are shown.
SELECT p.name, p.state, a.id FROM auctions a JOIN persons p ON a.seller = p.id
WHERE a.category = 10 AND (p.state = 'OR' OR p.state = 'ID')
