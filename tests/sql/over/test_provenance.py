"""The order of rows that the text puts in none."""

from __future__ import annotations

from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Bool, Int
from dither.sql.over.over_reading import read_over
from dither.sql.over.provenance import traced

CATALOG = Catalog({"t": Table("t", "people", "owner_id", 4, {"a": Int(0, 3), "f": Bool()})})


def test_rows_that_look_alike_stand_in_the_order_of_their_cells() -> None:
    """A level's NULL and a key's are told apart by their intervals alone, which belong to cells."""
    text = "SELECT a, f, COUNT(*) AS n FROM t GROUP BY ROLLUP (a, f)"
    over = read_over(text, CATALOG, lambda people: "pure")
    assert over is not None
    for lists, columns in ((True, 4), (False, 3)):
        tree = traced(over, lists=lists).tree
        assert len(tree.expressions) == columns
        assert [str(item.this.this) for item in tree.args["order"].expressions] == [
            str(place) for place in range(1, columns + 1)
        ]
