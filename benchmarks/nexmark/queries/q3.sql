-- Who in three states is selling in one category? Both tables are kept for ever.
CREATE TEMPORARY TABLE target (name STRING, city STRING, state STRING, id BIGINT) WITH (${sink});

INSERT INTO target
SELECT P.name, P.city, P.state, A.id
FROM auction AS A INNER JOIN person AS P ON A.seller = P.id
WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA');
