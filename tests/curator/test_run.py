"""Every measure of every group gets its own noise and its own place: at an enormous price, answers are exact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.curator.run import release
from dither.mechanisms.keys.groups import choose_values, measures_of, seal_groups, seal_histogram, select_groups
from dither.mechanisms.keys.key_selection import KeySelection
from dither.mechanisms.sealed_values import seal
from dither.sql.lowering.postgresql_dialect import POSTGRESQL
from dither.sql.lowering.statement import Statement

ROWS = [
    # owner, region, key from the data, number, colour
    (1, "n", "b", 1, "red"), (2, "n", "b", 1, "red"), (3, "s", "b", 7, "blue"), (4, "s", "b", 7, "blue"),
    (5, "s", "b", 7, "blue"), (6, "n", "a", 3, "red"), (7, "n", "a", 3, "red"), (8, "n", "a", 9, "red"),
    (9, "s", None, 5, "blue"), (10, "s", None, 5, "blue"), (11, "n", None, 6, "red"), (12, "n", None, 5, "red"),
    (13, "n", "alone", 8, "red"), (14, "s", "c", None, "blue"), (15, "s", "c", None, "blue"),
    (16, "s", "c", None, "red"),
]  # fmt: skip
COLUMNS = {
    "region": dt.Category(["e", "n", "s"], nullable=False, default="e"),
    "key": dt.Text(),
    "x": dt.Int(0, 10),
    "colour": dt.Category(["green", "red", "blue"], nullable=False, default="green"),
}
LATER = "PERCENTILE_DISC(0.6) WITHIN GROUP (ORDER BY x)"  # below, at this price, no other value is near its rank
MODE = "MODE() WITHIN GROUP (ORDER BY colour)"


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dt.Curator]:
    names = ("owner", *COLUMNS)
    source = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in ROWS])
    budget = dt.ApproxDP(9000, "0.1", composition="basic")
    with dt.Curator.open(tmp_path_factory.mktemp("release") / "curator") as made:
        made.register("t", source, owner="owner", max_rows_per_owner=1, columns=COLUMNS, budget=budget)
        yield made


def asked(curator: dt.Curator, text: str, **named: Any) -> list[tuple[Any, ...]]:
    table = curator.sql(text, epsilon=900, **named).to_arrow()
    return [tuple(row.values()) for row in table.to_pylist()]


def test_public_groups(curator: dt.Curator) -> None:
    """Two measures of one statement and one of another, for each declared group, also the empty one."""
    text = "SELECT region, COUNT(*), SUM(x), COUNT(DISTINCT key) FROM t GROUP BY region"
    assert asked(curator, text) == [("e", 0, 0, 0), ("n", 8, 36, 3), ("s", 8, 31, 2)]


def test_values_chosen_in_public_groups(curator: dt.Curator) -> None:
    text = (
        f"SELECT region, COUNT(*), {LATER} AS late, {MODE} AS often, SUM(x) FROM t WHERE region <> 'e' GROUP BY region"
    )
    rows = asked(curator, text)
    assert rows[-2:] == [("n", 8, 5, "red", 36), ("s", 8, 7, "blue", 31)]


def test_keys_from_the_data(curator: dt.Curator) -> None:
    """In the order of their values, NULL last; a key of one owner is not shown."""
    text = "SELECT key, COUNT(*), SUM(x) FROM t GROUP BY key"
    expected = [("a", 3, 15), ("b", 5, 23), ("c", 3, 0), (None, 4, 21)]
    assert asked(curator, text, delta="1e-9") == expected
    paid = curator.sql(text, epsilon=900, delta="1e-9")
    assert (dict(paid.price), paid.charged) == ({"epsilon": "900", "delta": "1e-09"}, False)


def test_two_keys_from_the_data(curator: dt.Curator) -> None:
    text = "SELECT key, region, SUM(x) FROM t GROUP BY key, region"
    expected = [("a", "n", 15), ("b", "n", 2), ("b", "s", 21), ("c", "s", 0), (None, "n", 11), (None, "s", 10)]
    assert asked(curator, text, delta="1e-9") == expected


def test_other_statements_follow_the_selected_keys(curator: dt.Curator) -> None:
    """Distinct values and chosen values come from statements of their own, in which a group may be missing."""
    text = f"SELECT key, COUNT(DISTINCT x), {LATER} AS late, {MODE} AS often, COUNT(*) FROM t GROUP BY key"
    rows = asked(curator, text, delta="1e-9")
    expected = [("a", 2, 3, "red", 3), ("b", 2, 7, "blue", 5), ("c", 0, None, "blue", 3), (None, 2, 5, None, 4)]
    for found, wanted in zip(rows, expected, strict=True):
        assert all(value in (shown, None) for shown, value in zip(found, wanted, strict=True)), (found, wanted)


@pytest.mark.parametrize("keys", ["region", "key", "key, region"])
def test_what_is_stored_says_what_it_is(curator: dt.Curator, keys: str) -> None:
    """Each array bears the name of its own measure and the mechanism that made it."""
    text = f"SELECT {keys}, COUNT(*), COUNT(DISTINCT x), MAX(x), {MODE}, SUM(x) FROM t GROUP BY {keys}"
    priced = curator._walk.price(text, epsilon=1, **({} if keys == "region" else {"delta": "1e-9"}))
    stored = release(priced, curator._engine)
    names = [measure.text for aggregate in priced.aggregates for measure in aggregate.measures]
    assert [part.measure for part in stored.measures] == names
    assert [part.mechanism for part in stored.measures] == [item.parameters() for item in priced.measures]
    assert len(set(names)) == len(names) > 4


class Abroad:
    """An engine of another dialect, which has no rows and remembers what it was asked."""

    def dialect_of(self, on: str) -> Any:
        return POSTGRESQL

    def __init__(self, engine: Any = None) -> None:
        self._engine = engine
        self.heard: list[str] = []

    def run(self, statement: Statement) -> list[Any]:
        self.heard.append(statement.sql)
        return [seal(arr(0)) for _ in range(statement.measures)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def test_an_engine_is_asked_in_its_own_dialect(curator: dt.Curator) -> None:
    abroad: Any = Abroad()
    release(curator._walk.price("SELECT COUNT(*) FROM t", epsilon=1), abroad)
    assert abroad.heard == ['SELECT COUNT(*) AS m0 FROM "t_t_000001" AS s1 WHERE s1."_rank" <= 1']


def test_what_its_dialect_cannot_say_is_refused_before_the_charge(tmp_path: Path) -> None:
    source, long = pa.table({"owner": [1], "x": [5]}), "v" * 62
    with dt.Curator.open(tmp_path / "curator") as curator:
        curator.people("p", budget=dt.PureDP(9))
        for name in ("t", long):
            columns = {"x": dt.Int(0, 9)}
            curator.register(name, source, people="p", owner="owner", columns=columns, max_rows_per_owner=1)
        abroad: Any = Abroad(curator._engine)
        curator._engine = abroad
        with pytest.raises(dt.PolicyError, match="names of at most 63 bytes"):
            curator.sql(f"SELECT SUM(x) FROM {long}", epsilon=1)
        assert (abroad.heard, curator.budget("p").spent.epsilon) == ([], 0)
        curator.sql("SELECT SUM(x) FROM t", epsilon=1)
        assert (len(abroad.heard), curator.budget("p").spent.epsilon) == (1, 1)


# The steps by themselves


def groups() -> Any:
    return seal_groups([pa.array(["b", None, "a", "alone"])], [arr(50, 40, 60, 1), arr(5, 4, 6, 1), arr(-5, -4, -6, 0)])


def arr(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


SELECTION = KeySelection(epsilon=100, delta="1e-9")


def test_selected_groups_carry_their_own_measures() -> None:
    selected = select_groups(groups(), SELECTION)
    assert selected.keys[0].to_pylist() == ["a", "b", None]
    assert selected.owners.tolist() == [60, 50, 40]
    noiseless = dt.Laplace(epsilon=500, sensitivity=1)
    assert [noiseless.release(part).value.tolist() for part in selected.measures] == [[6, 5, 4], [-6, -5, -4]]


def test_selected_groups_beyond_the_room_are_left_out() -> None:
    """The first by their values, which the data do not decide."""
    whole, some = select_groups(groups(), SELECTION, 3), select_groups(groups(), SELECTION, 2)
    assert (whole.whole, some.whole) == (True, False)
    assert some.keys[0].to_pylist() == ["a", "b"]
    assert some.owners.tolist() == [60, 50]
    noiseless = dt.Laplace(epsilon=500, sensitivity=1)
    assert [noiseless.release(part).value.tolist() for part in some.measures] == [[6, 5], [-6, -5]]


def test_measures_of_the_shown_groups() -> None:
    noiseless = dt.Laplace(epsilon=500, sensitivity=1)
    found = measures_of(groups(), [pa.array([None, "nobody", "b"])])
    assert [noiseless.release(part).value.tolist() for part in found] == [[40, 0, 50], [4, 0, 5], [-4, 0, -5]]


@pytest.mark.parametrize("mechanism", [dt.Exponential(epsilon=900, sensitivity=1), None])
def test_values_chosen_from_histograms(mechanism: Any) -> None:
    """By places in any order, and by keys; what is not shown counts nowhere. The most frequent, or a high quantile."""
    chooser = mechanism or dt.Quantile(epsilon=900, q="0.9", lower=3, upper=9)
    codes, counts = arr(9, 4, 5, 3, 3), arr(1, 30, 7, 2, 40)
    by_place = seal_histogram([], arr(2, 0, 0, 1, 2), codes, counts)
    expected = [4, 3, 3] if mechanism else [5, 3, 3]
    assert choose_values(by_place, chooser, 3, 3, 9).tolist() == expected
    by_key = seal_histogram([pa.array(["b", "a", "a", "b", "hidden"])], None, codes, counts)
    shown = [pa.array(["b", "a"])]
    assert choose_values(by_key, chooser, 2, 3, 9, shown).tolist() == ([3, 4] if mechanism else [9, 5])


def test_values_are_chosen_among_the_declared_ones_alone() -> None:
    """Without any data all declared values are as likely, and no other is possible."""
    empty = seal_histogram([], arr(), arr(), arr())
    chooser = dt.Exponential(epsilon=1, sensitivity=1)
    assert {int(choose_values(empty, chooser, 1, 4, 4)[0]) for _ in range(60)} == {4}
    assert set(choose_values(empty, chooser, 200, -1, 1).tolist()) == {-1, 0, 1}


def test_only_what_was_sealed_as_such_is_opened() -> None:
    with pytest.raises(dt.ParameterError, match="not a sealed histogram"):
        choose_values(groups(), dt.Exponential(epsilon=1, sensitivity=1), 1, 0, 1)
    with pytest.raises(dt.ParameterError, match="not a sealed groups"):
        select_groups(seal(3), SELECTION)  # type: ignore[arg-type]


def test_keys_are_shown_with_counts_that_were_paid_for() -> None:
    with pytest.raises(dt.ParameterError, match="adds no noise to counts"):
        select_groups(groups(), KeySelection(epsilon=1, delta="1e-6", method="optimal"))
