"""No entry of the grammar is dead: some text reaches each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlglot import exp

from dither.sql.text import grammar
from dither.sql.text.limits import tokens
from dither.sql.text.parse import parse

ACCEPTED = (Path(__file__).parent / "fixtures" / "accepted.sql").read_text(encoding="utf-8").strip().split("\n\n")
MORE = [
    "WITH c AS (SELECT 1) SELECT DISTINCT a FROM c GROUP BY a HAVING COUNT(*) > 1 ORDER BY 1 DESC LIMIT 1 OFFSET 1",
    "SELECT COUNT(*) FROM a LEFT JOIN b ON a.x = b.x JOIN c USING (y) CROSS JOIN d WHERE EXISTS (SELECT 1 FROM e)",
    "SELECT COUNT(*) FROM (a JOIN b ON a.x = b.x) JOIN c ON a.x = c.x",
    "SELECT COUNT(*) FROM (SELECT a FROM t UNION ALL SELECT a FROM t UNION SELECT 1) AS u FETCH FIRST 3 ROWS ONLY",
    "SELECT COUNT(DISTINCT a) FILTER (WHERE TRUE), AVG(a), SUM(a), MIN(a), MAX(a), MEDIAN(a), MODE(a), OWNER_COUNT(1)",
    "SELECT VARIANCE(a), VAR_POP(a), STDDEV(a), STDDEV_SAMP(a), STDDEV_POP(a), SQRT(a), LN(a), EXP(a), LOG(2, a)",
    "SELECT POWER(a, 2) FROM t",
    "SELECT MODE() WITHIN GROUP (ORDER BY a), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a NULLS FIRST) FROM t",
    "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY a), CAST(NULL AS DECIMAL(5, 2)), -(a - b) / a % 2 * 3 + 1",
    "SELECT ABS(a), CASE a WHEN 1 THEN 2 ELSE 3 END, COALESCE(a, b), NULLIF(a, b), LEAST(a, b), GREATEST(a, b) FROM t",
    "SELECT FLOOR(a), CEIL(a), ROUND(a, 1), TRUNC(a, 1), SIGN(a), WIDTH_BUCKET(a, 0, 9, 3), d + INTERVAL '1.5 days'",
    "SELECT EXTRACT(YEAR FROM d), DATE_TRUNC('month', d), d AT TIME ZONE 'UTC', INTERVAL '1' DAY FROM t",
    "SELECT LOWER(s), UPPER(s), LENGTH(s), SUBSTRING(s FROM 1 FOR 2), LEFT(s, 1), TRIM(LEADING 'x' FROM s), s || 'x'",
    "SELECT 1 FROM t WHERE NOT (a = 1 AND b <> 1 OR a < 1) AND a <= 1 AND a > 1 AND a >= 1 AND a BETWEEN 1 AND 2",
    "SELECT 1 FROM t WHERE a IN (1, 2) AND a IN (SELECT b FROM t) AND a IS NOT NULL AND s NOT LIKE 'x' ESCAPE '!'",
    "SELECT 1 FROM (SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b), RANK() OVER (ORDER BY b) FROM t QUALIFY a) u",
    "SELECT 1 FROM (SELECT DENSE_RANK() OVER (ORDER BY b), LAG(a, 2) OVER (ORDER BY b), LEAD(a, 1) OVER () FROM t) u",
    "SELECT 1 FROM t WHERE s NOT ILIKE 'x' AND \"q\" = 'x' GROUP BY a",
]


def reached(texts: list[str], catalog: Any) -> set[tuple[type, str]]:
    """Nodes and their arguments that are set in texts which the grammar lets pass."""
    nodes = [node for text in texts for node in parse(tokens(text), catalog).select.walk()]
    return {(type(node), name) for node in nodes for name in ["", *(n for n, value in node.args.items() if value)]}


def test_every_allowed_node_and_argument_is_reached(catalog: Any) -> None:
    found = reached([block.partition("\n-->\n")[0] for block in ACCEPTED] + MORE, catalog)
    known = grammar.ALLOWED | grammar.WINDOWS
    allowed = {(node, name) for node, names in known.items() for name in ("", *names)}
    assert {(node.__name__, name) for node, name in allowed - found} == set()


def test_every_refusal_can_be_reached() -> None:
    """Words about nodes are for nodes that are not allowed, those about arguments for some that are not."""
    assert not {name for name in grammar.NODES if getattr(exp, name) in grammar.ALLOWED}
    refused = {name for node, names in grammar.ALLOWED.items() for name in {*node.arg_types} - names}
    assert set(grammar.ARGUMENTS) <= refused
