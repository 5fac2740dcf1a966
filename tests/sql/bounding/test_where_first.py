"""A stated limit counts rows that WHERE keeps: at most so many of each owner, and no fewer than that."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.mechanisms.sealed_values import _unseal
from dither.sql.bounding import aggregations
from dither.sql.bounding.owner_limits import Limits

DRAW = random.Random(4)
ROWS = [(owner, DRAW.randint(0, 9), DRAW.randint(1, 4)) for owner in range(1, 21) for _ in range(DRAW.randint(1, 9))]
SHOPS = {"shop": [1, 2, 3], "size": [5, 7, 9]}

# The text after SELECT COUNT(*), and which rows it keeps.
CONDITIONS = {
    "FROM t WHERE x > 6": lambda x, shop: x > 6,
    "FROM t JOIN shops s ON t.shop = s.shop": lambda x, shop: shop < 4,
    "FROM t JOIN shops s ON t.shop = s.shop WHERE s.size > 5 AND x < 8": lambda x, shop: shop in (2, 3) and x < 8,
    "FROM (SELECT uid, x * 2 AS d FROM t WHERE shop = 2) q WHERE d > 7": lambda x, shop: shop == 2 and 2 * x > 7,
    "FROM t WHERE shop IN (SELECT shop FROM shops WHERE size > 5)": lambda x, shop: shop in (2, 3),
}


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with dt.Curator.open(tmp_path_factory.mktemp("where") / "c") as curator:
        curator.people("all", budget=dt.ApproxDP(100, "1e-6"))
        shops = {"shop": dt.Int(1, 4), "size": dt.Int(0, 9)}
        curator.register_public("shops", pa.table(SHOPS), key="shop", columns=shops)
        columns = {"x": dt.Int(0, 9), "shop": dt.Int(1, 4)}
        for name, rows in {"t": ROWS, **{f"t{owner}": without(owner) for owner in (1, 7, 20)}}.items():
            table = pa.table({place: [row[at] for row in rows] for at, place in enumerate(("uid", "x", "shop"))})
            curator.register(name, table, people="all", owner="uid", max_rows_per_owner=9, columns=columns)
        yield curator


def without(owner: int) -> list[tuple[int, int, int]]:
    return [row for row in ROWS if row[0] != owner]


def counted(curator: Any, text: str, rows: int, **stated: Any) -> int:
    """The count without its noise."""
    priced = curator._walk.price(f"SELECT COUNT(*) {text}", epsilon=1, rows_per_owner=rows, **stated)
    assert int(priced.measures[0].sensitivity.l1) == rows
    (sealed,) = curator._engine.run(priced.statements[0])
    return int(np.asarray(_unseal(sealed))[0])


def expected(text: str, most: int, rows: list[tuple[int, int, int]] = ROWS) -> int:
    kept = Counter(owner for owner, x, shop in rows if CONDITIONS[text](x, shop))
    return sum(min(most, count) for count in kept.values())


@pytest.mark.parametrize("text", CONDITIONS)
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_as_many_rows_count_as_where_keeps(curator: Any, text: str, rows: int) -> None:
    assert counted(curator, text, rows) == expected(text, rows)


@pytest.mark.parametrize("text", CONDITIONS)
def test_one_owner_moves_it_by_the_limit_at_most(curator: Any, text: str) -> None:
    everybody = counted(curator, text, 2)
    for owner in (1, 7, 20):
        one_less = counted(curator, text.replace("FROM t ", f"FROM t{owner} AS t "), 2)
        assert one_less == expected(text, 2, without(owner))
        assert abs(everybody - one_less) <= 2


def test_a_limit_before_where_is_noticed(curator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: rows are limited first, so that WHERE finds fewer of them."""
    monkeypatch.setattr(aggregations, "limited_rows", lambda node, rows, where_first: Limits(rows).limited(node))
    text = "FROM t WHERE x > 6 AND shop > 0"  # no plan that is remembered
    CONDITIONS[text] = CONDITIONS["FROM t WHERE x > 6"]
    try:
        assert counted(curator, text, 1) < expected(text, 1)
    finally:
        del CONDITIONS[text]


def test_the_quicker_order_is_offered_and_told(curator: Any) -> None:
    text = "SELECT COUNT(*) FROM t WHERE x > 6"
    after = curator.explain(text, epsilon=1, rows_per_owner=2)
    before = curator.explain(text, epsilon=1, rows_per_owner=2, limit_rows="before_where")
    assert "Of those that WHERE keeps, at most 2 rows of each owner are counted." in after.to_dict()["notes"]
    assert 'limit_rows="before_where"' in str(after)
    assert 'limit_rows="after_where"' in str(before)
    assert "At most 2 rows of each owner are counted, whichever WHERE keeps of them." in before.to_dict()["notes"]
    assert "ROW_NUMBER" in after.to_dict()["statements"][0]
    assert "ROW_NUMBER" not in before.to_dict()["statements"][0]
    assert after.to_dict()["rows_per_owner"] == before.to_dict()["rows_per_owner"] == 2
    assert counted(curator, "FROM t WHERE x > 6", 2, limit_rows="before_where") <= expected("FROM t WHERE x > 6", 2)
    with pytest.raises(dt.DitherError, match="limit_rows"):
        curator.sql(text, epsilon=1, limit_rows="sideways")


def test_without_conditions_no_window_is_needed(curator: Any) -> None:
    asked = curator.explain("SELECT x, COUNT(*) FROM t GROUP BY x", epsilon=1, rows_per_owner=2).to_dict()
    assert "ROW_NUMBER" not in asked["statements"][0]


def test_answers_in_the_two_orders_are_two_answers(curator: Any) -> None:
    text = "SELECT COUNT(*) FROM t WHERE x > 5"
    assert curator.sql(text, epsilon="0.5", rows_per_owner=2).charged
    assert curator.sql(text, epsilon="0.5", rows_per_owner=2, limit_rows="before_where").charged
    assert not curator.sql(text, epsilon="0.5", rows_per_owner=2).charged
