"""From syntax to a typed question: relations, joins, subqueries, group keys, aggregates and formulas."""
