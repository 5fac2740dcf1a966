"""Threats 28 and 33: plans follow from what was released, so neighbours with the same profile plan alike."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import threats_harness as harness
import threats_population as population
from threats_harness import Leak, Side, check_neighbours

from dither.accounting.currency.currency import Currency
from dither.curator.curator import Curator
from dither.curator.profiling import Asked, Part
from dither.curator.recall import profile_of, settled
from dither.ledger import Charge
from dither.mechanisms.sealed_values import _unseal
from dither.policy.columns import Category, Fixed, Int
from dither.sql.binding.reading import read
from dither.sql.postprocess.histograms import Certified
from dither.sql.pricing.price import PricedQuestion, price

LIMIT = 64
SHARE = "0.5"
COLUMNS = {"x": Int(0, 100, nullable=False, default=0), "paid": Fixed(-50, 50, decimals=2), "g": Category(["a", "b"])}
QUESTIONS = {
    "count": "SELECT COUNT(*) FROM t",
    "filtered": "SELECT COUNT(*) FROM t WHERE x > 50",
    "sum": "SELECT SUM(x) FROM t",
    "signed sum": "SELECT SUM(paid) FROM t",
    "average": "SELECT AVG(x) FROM t",
    "grouped": "SELECT g, COUNT(*), SUM(x), AVG(x), COUNT(DISTINCT uid) FROM t GROUP BY g",
    "many groups": "SELECT x, COUNT(*) FROM t GROUP BY x",
    "several": "SELECT COUNT(*), SUM(x), SUM(paid), AVG(paid), MEDIAN(x), VARIANCE(x) FROM t",
    "formula": "SELECT SUM(paid) / COUNT(*) + SUM(x) FROM t",
    "keys from data": "SELECT paid, COUNT(*), SUM(x) FROM t GROUP BY paid",
}


def rows(without: int | None = None) -> pa.Table:
    """Sixty owners with a few rows each; 4217 has thousands, with the largest values."""
    drawn = np.random.default_rng(4)
    owners = np.repeat(np.arange(1, 61), drawn.integers(1, 13, 60))
    x, paid = drawn.integers(0, 40, len(owners)), drawn.uniform(-20, 20, len(owners)).round(2)
    table = {"uid": [*owners.tolist(), *[population.NASTY] * 3000], "x": [*x.tolist(), *[100] * 3000]}
    table |= {"paid": [*paid.tolist(), *[50.0] * 3000], "g": ["a", "b"] * ((len(owners) + 3000) // 2)}
    size = min(map(len, table.values()))
    found = pa.table({name: values[:size] for name, values in table.items()})
    return found if without is None else population.without(found, without)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """D with its profile, and D without 4217 with the very same profile in its ledger."""
    made = []
    for place, gone in enumerate((None, population.NASTY)):
        folder = tmp_path_factory.mktemp("profiled") / str(place)
        curator = Curator.open(folder)
        if made:  # ranks are drawn with the same key
            (folder / "snapshots").mkdir(mode=0o700, exist_ok=True)
            shutil.copy(made[0].curator._engine.home._folder / "rank.key", folder / "snapshots" / "rank.key")
        curator.people("everybody", budget=harness.BUDGET)
        declared = {"owner": "uid", "max_rows_per_owner": LIMIT, "columns": COLUMNS}
        curator.register("t", rows(gone), people="everybody", **declared)
        made.append(Side.of(curator))
    one, other = made
    one.curator.profile("t", share=SHARE, columns=["x", "paid"])
    copy_profile(one.curator, other.curator)
    yield one, other
    for side in made:
        side.curator.close()


def asked_of(curator: Curator) -> list[Part]:
    """The parts of its profile, as they were asked for."""
    table, currency = curator._policy.read().tables["t"], Currency.of(harness.BUDGET)
    asked = Asked.of(table, currency, SHARE, ["x", "paid"])
    return [part for part, _ in asked.parts(partial(settled, curator._ledger))]


def copy_profile(one: Curator, other: Curator) -> None:
    for part in asked_of(one):
        stored = settled(one._ledger, part)
        assert stored is not None
        people, charge = part.table.people, Charge(part.cost)
        made = other._ledger.reserve(people, None, charge, question=part.label, snapshot=part.snapshot, plan="")
        other._ledger.settle(made.id, stored)


@pytest.mark.parametrize(
    "stated", [{"epsilon": "0.01"}, {"epsilon": 1}, {"rho": 1}, {"epsilon": 1, "rows_per_owner": 2}]
)
@pytest.mark.parametrize("name", QUESTIONS)
def test_neighbours_plan_alike(pair: tuple[Side, Side], name: str, stated: dict[str, Any]) -> None:
    assert check_neighbours(*pair, QUESTIONS[name], **stated).status == "answered"


@pytest.mark.parametrize("name", ["count", "sum", "grouped", "average"])
def test_prices_found_for_an_error_are_alike(pair: tuple[Side, Side], name: str) -> None:
    assert check_neighbours(*pair, QUESTIONS[name], error=1000).status == "answered"


def test_the_profile_decides(pair: tuple[Side, Side]) -> None:
    """Otherwise the tests above would show little."""
    told = [pair[0].price(text, epsilon=e).strategy for text in QUESTIONS.values() for e in ("0.0001", "500")]
    assert sum(strategy.rows is not None for strategy in told) >= 5
    assert any(strategy.bounds or strategy.totals for strategy in told)
    assert any(strategy.shares for strategy in told)
    assert any(strategy.centred for strategy in told)


def exact(side: Side, part: Part) -> Any:
    """What a part counts, without its noise."""
    priced = part.priced(side.curator._policy.catalog(), Currency.of(harness.BUDGET))
    (statement,) = priced.statements
    return np.asarray(_unseal(side.engine.run(statement)[0])).astype(int)


def check_joint_release(pair: tuple[Side, Side]) -> None:
    """All histograms together: an owner moves one number of each by one, and all are paid for by the share."""
    currency = Currency.of(harness.BUDGET)
    share, lost = currency.cap_cost * Fraction(SHARE), Fraction(0)
    parts = asked_of(pair[0].curator)
    assert len(parts) == 2 * 7
    for part in parts:
        apart = np.abs(exact(pair[0], part) - exact(pair[1], part))
        assert apart.sum() == 1, part.label
        (item,) = part.priced(pair[0].curator._policy.catalog(), currency).measures
        assert (item.sensitivity.l1, item.sensitivity.l2_squared) == (1, 1)
        lost += item.mechanism.rho * int((apart**2).sum())  # type: ignore[union-attr]
    assert lost <= share, "the joint release costs more than the share"


def test_what_a_profile_asks_is_within_its_bounds(pair: tuple[Side, Side]) -> None:
    check_joint_release(pair)
    spent = pair[0].curator.budget("everybody").spent.adding
    assert sum(part.cost for part in asked_of(pair[0].curator)) <= spent


def test_rows_beyond_the_maximum_are_counted(pair: tuple[Side, Side]) -> None:
    """4217 has thousands of rows, and is in the open last bin."""
    first, *_ = asked_of(pair[0].curator)
    assert first.edges[-1] == LIMIT + 1
    assert (exact(pair[0], first)[-1], exact(pair[1], first)[-1]) == (1, 0)


# Planted bugs, each caught by the same check.


def planted(pair: tuple[Side, Side], price_of: Callable[[Side], Callable[..., PricedQuestion]]) -> None:
    one, other = (replace(side, price=price_of(side)) for side in pair)
    check_neighbours(*pair, QUESTIONS["count"], epsilon=1)
    with pytest.raises(Leak, match="recipe differs"):
        check_neighbours(one, other, QUESTIONS["count"], epsilon=1)


def test_planted_rows_from_the_true_mean(pair: tuple[Side, Side]) -> None:
    """How many rows an owner has on average, looked up in the snapshot instead of the profile."""

    def looked_up(side: Side) -> Callable[..., PricedQuestion]:
        def priced(text: str, **stated: Any) -> PricedQuestion:
            counts = [
                _unseal(side.engine.run(item)[0])
                for asked in ("SELECT COUNT(*) FROM t", "SELECT COUNT(DISTINCT uid) FROM t")
                for item in side.curator._walk.price(asked, epsilon=1, rows_per_owner=LIMIT).statements
            ]
            mean = int(np.asarray(counts[0]).sum()) / int(np.asarray(counts[1]).sum())
            return side.curator._walk.price(text, rows_per_owner=max(1, round(mean)), **stated)

        return priced

    planted(pair, looked_up)


def test_planted_parts_charged_once(pair: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every histogram at the price of all: an owner is in one bin of each."""
    steps = Asked._steps
    monkeypatch.setattr(Asked, "_steps", lambda self, quantity, cost, find: steps(self, quantity, self.total, find))
    with pytest.raises(AssertionError, match="costs more than the share"):
        check_joint_release(pair)


def test_planted_a_profile_without_noise(pair: tuple[Side, Side]) -> None:
    """Exact numbers of owners in the place of the released ones."""

    def noiseless(side: Side) -> Callable[..., PricedQuestion]:
        def priced(text: str, **stated: Any) -> PricedQuestion:
            curator = side.curator
            table = curator._policy.read().tables["t"]
            part = asked_of(pair[0].curator)[0]
            owners = tuple(int(number) for number in exact(side, part))
            profile = profile_of(curator._ledger, table)
            assert profile is not None
            assert profile.rows is not None
            sure = {"mechanism": "Gaussian", "rho": "4000", "sensitivity": "1"}
            leaky = replace(profile.rows.histograms[0], owners=owners, mechanism=sure)
            known = {"rows": Certified(LIMIT, (leaky,))}
            question, currency = read(text, curator._policy.catalog()), Currency.of(harness.BUDGET)
            return price(question, currency, profile=replace(profile, known=known), **stated)

        return priced

    one, other = (replace(side, price=noiseless(side)) for side in pair)
    with pytest.raises(Leak, match="recipe differs"):
        check_neighbours(one, other, QUESTIONS["count"], epsilon="100")


def test_planted_a_profile_that_is_not_settled(pair: tuple[Side, Side], tmp_path: Path) -> None:
    """A reservation without an answer is no profile."""
    with Curator.open(tmp_path / "clinic") as curator:
        curator.people("everybody", budget=harness.BUDGET)
        declared = {"owner": "uid", "max_rows_per_owner": LIMIT, "columns": COLUMNS}
        curator.register("t", rows(), people="everybody", **declared)
        table = curator._policy.read().tables["t"]
        for part, _ in Asked(table, ("x", "paid")).parts(lambda part: None):
            curator._ledger.reserve(
                "everybody", None, Charge(1 / 1000), question=part.label, snapshot=part.snapshot, plan="{}"
            )
        assert profile_of(curator._ledger, table) is None
        recipe = json.loads(curator._walk.price(QUESTIONS["count"], epsilon=1).recipe())
        assert "strategy" not in recipe
