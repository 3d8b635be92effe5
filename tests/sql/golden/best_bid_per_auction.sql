-- A Top-1 over a comma join whose conditions all stand in WHERE, read through a view.
SELECT id, item, price FROM ranked WHERE place <= 1
