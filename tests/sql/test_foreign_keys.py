"""A foreign key ties a query inside EXISTS and IN to the owner: exact answers beside those of plain tables."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from dither.accounting import PureDP
from dither.columns import Int
from dither.curator import Curator
from dither.errors import UnsupportedQuery
from dither.mechanisms.exact import _unseal

BILLS = pa.table({"bill": [1, 2, 3, 4, 5], "buyer": [7, 7, 8, 9, 9], "paid": [1, 0, 1, 1, 0]})
LINES = pa.table({"bill": [1, 1, 2, 4, 4, 5], "line": [1, 2, 3, 4, 5, 6], "price": [5, 9, 2, 1, 1, 8]})
PARTS = pa.table({"line": [1, 3, 3, 6], "size": [4, 2, 9, 9]})


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    curator = Curator.open(tmp_path_factory.mktemp("shop"))
    curator.people("buyers", budget=PureDP(10))
    number = Int(0, 9, nullable=False, default=0)
    for name, source, owner, columns, key in (
        ("bills", BILLS, "buyer", ("bill", "paid"), "bill"),
        ("lines", LINES, "bill -> bills.bill", ("bill", "line", "price"), "line"),
        ("parts", PARTS, "line -> lines.line", ("line", "size"), ()),
    ):
        declared = dict.fromkeys(columns, number)
        curator.register(name, source, people="buyers", owner=owner, max_rows_per_owner=9, key=key, columns=declared)
    yield curator
    curator.close()


MEANT = """
SELECT COUNT(*) FROM bills WHERE EXISTS (SELECT * FROM lines WHERE lines.bill = bills.bill AND price > 4)
SELECT COUNT(*) FROM bills WHERE NOT EXISTS (SELECT * FROM lines WHERE bills.bill = lines.bill)
SELECT COUNT(*) FROM lines WHERE EXISTS (SELECT 1 FROM bills WHERE bills.bill = lines.bill AND paid = 1)
SELECT COUNT(*) FROM bills WHERE bill IN (SELECT bill FROM lines WHERE price > 4)
SELECT COUNT(*) FROM bills WHERE bill NOT IN (SELECT bill FROM lines)
SELECT COUNT(*) FROM lines WHERE bill IN (SELECT bill FROM bills WHERE paid = 0)
SELECT COUNT(*) FROM lines AS a WHERE EXISTS (SELECT 1 FROM lines AS b WHERE a.bill = b.bill AND a.line < b.line)
SELECT COUNT(*) FROM bills AS o WHERE EXISTS (SELECT 1 FROM lines JOIN parts ON parts.line = lines.line WHERE lines.bill = o.bill AND size > 3)
SELECT COUNT(*) FROM (SELECT bill AS b, paid + 1 AS p FROM bills) AS o WHERE EXISTS (SELECT 1 FROM lines WHERE lines.bill = o.b AND price > p)
"""  # noqa: E501 - a query a line


@pytest.mark.parametrize("text", MEANT.strip().splitlines())
def test_a_foreign_key_implies_an_equality_of_owners(shop, text):
    with duckdb.connect() as plain:
        for name, source in (("bills", BILLS), ("lines", LINES), ("parts", PARTS)):
            plain.register(name, source)
        meant = plain.execute(text).fetchone()[0]
    priced = shop._price(text, epsilon=1)
    assert int(_unseal(shop._engine.run(priced.statements[0])[0])[0]) == meant > 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM bills AS b WHERE a.bill = b.bill)",
        "SELECT COUNT(*) FROM bills AS a WHERE a.bill IN (SELECT bill FROM bills)",
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM lines AS b WHERE a.bill <= b.bill)",
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM lines AS b WHERE a.bill = b.bill + 1)",
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM lines AS b WHERE a.bill = b.line)",
        "SELECT COUNT(*) FROM bills AS a WHERE a.bill IN (SELECT line FROM lines)",
        "SELECT COUNT(*) FROM bills AS a WHERE EXISTS (SELECT 1 FROM parts AS b WHERE a.bill = b.line)",
    ],
)
def test_any_other_comparison_does_not(shop, text):
    with pytest.raises(UnsupportedQuery, match="needs an equality of owners"):
        shop.explain(text, epsilon=1)
