"""What plans leave out, against every choice of rows: bounds hold, and are open where nothing is known."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from dither.accounting import PureDP
from dither.accounting.currency.currency import Currency
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Category, Int
from dither.sql.binding.reading import read
from dither.sql.bounding.losses import certifiable, left_out
from dither.sql.bounding.owner_limits import Limits
from dither.sql.plan.nodes import CountOwners, CountRows, OwnerTotal, SumRows
from dither.sql.planner.candidate import answered, planned
from dither.sql.planner.profile import Profile
from dither.sql.planner.strategy import Strategy, totalled
from dither.sql.postprocess.histograms import Certified, Histogram
from dither.sql.postprocess.left_out import LeftOut, Side
from dither.sql.pricing.price import price

M, A, B = 4, -20, 100
COLUMNS = {"id": Int(0, 9, nullable=False, default=0), "g": Category(["a", "b"])}
COLUMNS |= {"x": Int(0, B, nullable=False, default=0), "y": Int(A, B, nullable=False, default=0)}
CATALOG = Catalog(
    {
        "t": Table("t", "people", "uid", M, COLUMNS, 1, key=("id",)),
        "one": Table("one", "people", "uid", 1, COLUMNS, 1),
        "many": Table("many", "people", "uid", 3, COLUMNS, 1),
    }
)
SURE = {"mechanism": "Laplace", "epsilon": "900", "sensitivity": "1"}  # hardly any noise
MISSED = Fraction(1, 100)
Owners = list[list[int]]  # the values of each owner's rows, by their ranks


def exact_histogram(amounts: list[int], top: int) -> Certified:
    edges = tuple(sorted({0, 1, 2, 4, 8, 16, 50, *((top // 2,) if top > 100 else ())} - set(range(top + 1, 51))))
    owners = [0] * len(edges)
    for amount in amounts:
        owners[max(place for place, edge in enumerate(edges) if edge <= amount)] += 1
    return Certified(top, (Histogram(edges, tuple(owners), SURE, Fraction(1)),))


def profile(owners: Owners) -> dict[str, Certified]:
    """What owners really have, hardly noised."""
    counted = [rows[:M] for rows in owners if rows]
    found = {"rows": exact_histogram([len(rows) for rows in owners if rows], M)}
    for column in ("x", "y"):
        found[f"largest {column}"] = exact_histogram(
            [max(0, *rows) if len(rows) > 1 else max(0, rows[0]) for rows in counted], B
        )
        found[f"smallest {column}"] = exact_histogram([max(0, -min(rows)) for rows in counted], -A)
        found[f"gains {column}"] = exact_histogram([sum(max(0, x) for x in rows) for rows in counted], M * B)
        found[f"losses {column}"] = exact_histogram([sum(max(0, -x) for x in rows) for rows in counted], -M * A)
    return found


def tables(seed: int, low: int) -> Owners:
    drawn = random.Random(seed)
    values = [low, 0, 1, 5, 20, B]
    return [[drawn.choice(values) for _ in range(drawn.choice((1, 1, 2, 3, 4, 6)))] for _ in range(drawn.randint(1, 4))]


def groups(rows: int) -> Iterator[tuple[int, ...]]:
    """Which rows, by their places, are asked about: all, or any few."""
    yield tuple(range(rows))
    for size in (1, 2, 3):
        yield from itertools.combinations(range(rows), size)


def losses(owners: Owners, measure: str, rows: int, clamp: tuple[int, int]) -> Iterator[int]:
    """Exact - limited of every group: at most `rows` rows of each owner, values or totals clamped."""
    placed = [(owner, rank, value) for owner, own in enumerate(owners) for rank, value in enumerate(own[:M])]

    def clamped(value: int) -> int:
        return min(max(value, clamp[0]), clamp[1])

    for chosen in groups(len(placed)):
        asked = [placed[place] for place in chosen]
        kept = [row for row in asked if row[1] < rows]
        if measure == "count":
            yield len(asked) - len(kept)
        elif measure == "owners":
            yield len({owner for owner, *_ in asked}) - len({owner for owner, *_ in kept})
        elif measure == "sum":
            yield sum(value for *_, value in asked) - sum(clamped(value) for *_, value in kept)
        else:
            totals = [sum(value for owner, _, value in asked if owner == one) for one in range(len(owners))]
            yield sum(totals) - sum(map(clamped, totals))


TEXTS = {
    "count": "SELECT g, COUNT(*) FROM t GROUP BY g",
    "owners": "SELECT g, COUNT(DISTINCT uid) FROM t GROUP BY g",
    "sum": "SELECT g, SUM({}) FROM t GROUP BY g",
    "total": "SELECT SUM({}) FROM t",
}


def bound_of(measure: str, column: str, rows: int, clamp: tuple[int, int], known: dict[str, Certified]) -> Any:
    question = read(TEXTS[measure].format(column), CATALOG)
    bounds: tuple[tuple[str, int, int], ...] = ()
    (wanted,) = question.outputs[0].aggregate.measures()
    low = 0 if column == "x" else A
    if measure == "total":
        strategy = Strategy(None, ((wanted, totalled(wanted, *clamp)),))
    else:
        if measure == "sum" and clamp != (low, B):
            assert isinstance(wanted, SumRows)
            bounds = ((wanted.value.text, *clamp),)
        strategy = Strategy(rows, bounds=bounds)
    aggregates = planned(answered(question, strategy), strategy)
    found = left_out(aggregates, bounds, "t", known)
    found = LeftOut.read(found.document())  # as it is stored
    return found.bounds(aggregates[0].answers[0].text, MISSED)


def check_covers(bound: Callable[..., Any] = bound_of) -> None:
    """On small tables, for every limit and clamp, the loss of every group is within its bounds."""
    for seed in range(12):
        for column, low in (("x", 0), ("y", A)):
            owners = tables(seed, low)
            known = profile(owners)
            for measure, rows, top in itertools.product(TEXTS, (1, 2, M), (5, B)):
                clamp = (max(low, -5) if top == 5 else low, top)
                if measure == "total":
                    clamp = (min(0, 3 * low), 3 * top)
                least, most = bound(measure, column, rows, clamp, known)
                found = [
                    *losses(
                        owners,
                        measure,
                        M if measure == "total" else rows,
                        clamp if measure in ("sum", "total") else (low, B),
                    )
                ]
                assert least <= min(found), (measure, column, rows, clamp)
                assert max(found) <= most, (measure, column, rows, clamp)


def test_what_is_left_out_of_any_group_is_within_its_bounds() -> None:
    check_covers()


def test_planted_bug_clamped_values_counted_for_the_rows_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """b T + K E: one owner with ten rows of 100, of whom one row counts, clamped to 1, loses 999 and not 108."""

    def too_little(self: Side, known: Any, missed: Fraction) -> int | None:
        if not self.values:
            return right(self, known, missed)
        rows = known["rows"].excess(self.rows, missed) if "rows" in self.used else 0
        return self.clamped * rows + self.rows * self.cut(known, missed)

    right = Side.bound
    one = {"rows": Certified(10, (Histogram((1, 10), (0, 1), SURE, Fraction(1)),))}
    one["largest x"] = Certified(100, (Histogram((0, 100), (0, 1), SURE, Fraction(1)),))
    side = Side(1, 10, 100, 1, "largest x", clamp=1)
    assert side.bound(one, MISSED) >= 999
    assert too_little(side, one, MISSED) < 999
    monkeypatch.setattr(Side, "bound", too_little)
    with pytest.raises(AssertionError, match="sum"):
        check_covers()


def test_planted_bug_net_totals() -> None:
    """Owners by the total of all their values: where gains and losses make up for each other, a WHERE parts them."""

    def net(measure: str, column: str, rows: int, clamp: tuple[int, int], known: dict[str, Certified]) -> Any:
        return bound_of(measure, column, rows, clamp, known | by_net)

    owners = [[B, A, A, A]]
    by_net = {
        "gains y": exact_histogram([B + 3 * A], M * B),
        "losses y": exact_histogram([0], -M * A),
    }
    found = [*losses(owners, "total", M, (-15, 15))]
    assert net("total", "y", M, (-15, 15), profile(owners))[1] < max(found)
    assert bound_of("total", "y", M, (-15, 15), profile(owners))[1] >= max(found)


def open_ends(text: str, rows: int | None = 2) -> Any:
    made = price(read(text, CATALOG), Currency.of(PureDP(4)), epsilon=1, rows_per_owner=rows)
    return [made.left_out.bounds(item.measure.text, MISSED) for item in made.measures]


def test_a_stated_limit_without_a_profile_is_open_above() -> None:
    assert open_ends("SELECT COUNT(*) FROM t") == [(0, None)]
    assert open_ends("SELECT SUM(x) FROM t") == [(0, None)]
    assert open_ends("SELECT SUM(y) FROM t") == [(None, None)]
    assert open_ends("SELECT g, COUNT(DISTINCT uid) FROM t GROUP BY g") == [(0, None)]
    assert open_ends("SELECT COUNT(DISTINCT uid) FROM t") == [(0, 0)], "it reads all rows"
    assert open_ends("SELECT MEDIAN(x) FROM t") == [(0, None)]
    for text in ("SELECT COUNT(*), SUM(y), MEDIAN(x) FROM t", "SELECT COUNT(*) FROM t JOIN many USING (uid)"):
        assert set(open_ends(text, None)) == {(0, 0)}, "all that is declared counts"


def test_limits_that_could_add_rows_are_open_below_too() -> None:
    totals = "SELECT COUNT(*) FROM (SELECT uid, COUNT(*) AS n FROM t GROUP BY uid) AS q WHERE n < 3"
    assert open_ends(totals) == [(None, None)]
    assert open_ends("SELECT COUNT(*) FROM one LEFT JOIN t ON one.uid = t.uid") == [(None, None)]
    assert open_ends("SELECT COUNT(*) FROM t LEFT JOIN one ON one.uid = t.uid") == [(0, None)]


def test_totals_that_are_asked_for_lose_only_groups() -> None:
    assert open_ends("SELECT OWNER_SUM(y, -5, 5) FROM t") == [(0, 0)]
    assert open_ends("SELECT g, OWNER_SUM(y, 0, 5) FROM t GROUP BY g", 1) == [(0, None)]
    assert open_ends("SELECT g, OWNER_SUM(y, -5, 5) FROM t GROUP BY g", 1) == [(None, None)]
    assert open_ends("SELECT g, OWNER_SUM(y, -5, 5) FROM t GROUP BY g", None) == [(0, 0)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT COUNT(*) FROM t WHERE x > 3", "t"),
        ("SELECT COUNT(*) FROM t JOIN one ON one.uid = t.uid", "t"),
        ("SELECT COUNT(*) FROM one JOIN t ON one.uid = t.uid", "t"),
        ("SELECT COUNT(*) FROM many JOIN t ON many.uid = t.uid AND many.id = t.id", "many"),
        ("SELECT COUNT(*) FROM many JOIN t ON many.uid = t.uid", None),
        ("SELECT COUNT(*) FROM one LEFT JOIN t ON one.uid = t.uid", None),
        ("SELECT COUNT(*) FROM (SELECT x FROM t UNION ALL SELECT x FROM many) AS u", None),
        ("SELECT COUNT(*) FROM (SELECT uid, COUNT(*) AS n FROM t GROUP BY uid) AS q", None),
    ],
)
def test_whose_rows_make_no_more_than_one_row_each(text: str, found: str | None) -> None:
    limit = certifiable(Limits(None).limited(read(text, CATALOG).source))
    assert (None if limit is None else limit.child.table.name) == found


def test_joins_leave_nothing_out() -> None:
    """All rows that a join makes of one owner's rows count, as many as are declared."""
    made = price(read("SELECT COUNT(*) FROM t JOIN many USING (uid)", CATALOG), Currency.of(PureDP(4)), epsilon=1)
    assert made.measures[0].sensitivity.l1 == M * 3
    assert made.left_out == LeftOut()


def test_a_profile_of_another_table_certifies_nothing() -> None:
    known = Profile("many", 1, 3, profile([[1, 2, 3]]))
    question = read("SELECT COUNT(*) FROM t", CATALOG)
    made = price(question, Currency.of(PureDP(4)), epsilon=1, rows_per_owner=2, profile=known)
    assert made.left_out.bounds(CountRows().text, MISSED) == (0, None)
    assert made.left_out.certain(CountRows().text)
    assert CountOwners() not in [item.measure for item in made.measures]
    assert OwnerTotal(None, None, 0, 1) not in [item.measure for item in made.measures]
