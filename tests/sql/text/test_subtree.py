"""A piece of syntax as a list: the very nodes of the parser's own walk, in its order."""

import pytest
import sqlglot
from sqlglot import exp

from dither.sql.text.subtree import subtree

TEXTS = [
    "SELECT COUNT(*) FROM t",
    "SELECT a, SUM(CASE WHEN b IN (1, 2) THEN c END) AS s FROM t JOIN u ON t.k = u.k WHERE a > 1 GROUP BY 1 LIMIT 3",
    "WITH m AS (SELECT a FROM t UNION ALL SELECT b FROM u) SELECT COUNT(DISTINCT a) FILTER (WHERE a IS NULL) FROM m",
]


@pytest.mark.parametrize("text", TEXTS)
def test_all_of_it_level_by_level(text):
    tree = sqlglot.parse_one(text, read="postgres")
    for node in tree.find_all(exp.Expr):
        assert list(map(id, subtree(node))) == list(map(id, node.walk()))
