"""A price is charged once, exactly, before data are read; nothing gives it back."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dither as dt
from dither.accounting.currency.currency import Currency
from dither.sql.binding.reading import read
from dither.sql.pricing.price import price

ONE = "SELECT COUNT(*) FROM visits"
TWO = "SELECT COUNT(*), SUM(age) FROM visits"
MANY = (
    "SELECT region, ward, COUNT(*), COUNT(age), COUNT(DISTINCT patient), SUM(age), AVG(age), SUM(paid), AVG(paid) "
    "FROM visits WHERE age > 3 GROUP BY region, ward"
)
UNGROUPED = "SELECT COUNT(*), COUNT(DISTINCT patient), AVG(age), AVG(paid) FROM visits"
QUESTIONS = [ONE, TWO, MANY, UNGROUPED]
Make = Callable[..., dt.Curator]


@pytest.mark.parametrize("text", QUESTIONS)
def test_epsilon_one_costs_exactly_one(make: Make, text: str) -> None:
    clinic = make(dt.PureDP(4))
    alice = clinic.analyst("alice", budget=dt.PureDP(2))
    alice.sql(text, epsilon=1)
    assert clinic.budget("patients").spent.epsilon == 1
    assert clinic.budget("patients").left.epsilon == 3
    assert alice.budget().spent.epsilon == 1


@pytest.mark.parametrize("text", QUESTIONS)
def test_epsilon_one_costs_exactly_the_rho_of_its_gaussian(make: Make, text: str) -> None:
    clinic = make(dt.ApproxDP(4, "1e-6"))
    clinic.analyst("alice", budget=dt.ApproxDP(3, "1e-6")).sql(text, epsilon=1)
    spent = clinic.budget("patients").spent
    stated = Currency.of(dt.ApproxDP(4, "1e-6")).price_of(epsilon=1).cost
    assert spent.rho == Fraction(math.ceil(stated * 10**15), 10**15)
    sigma = dt.Gaussian(epsilon=1, delta="5e-7", sensitivity=1).scale
    assert float(spent.rho) == pytest.approx(float(1 / (2 * sigma**2)), rel=1e-9)


@pytest.mark.parametrize("text", QUESTIONS)
def test_epsilons_add_under_basic_composition(make: Make, text: str) -> None:
    clinic = make(dt.ApproxDP(4, "1e-6", composition="basic"))
    clinic.sql(text, epsilon=1)
    assert (clinic.budget("patients").spent.epsilon, clinic.budget("patients").spent.delta) == (1, 0)


@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("budget", [dt.PureDP(4), dt.ApproxDP(4, "1e-6")])
def test_the_mechanisms_together_cost_what_is_charged(clinic: dt.Curator, text: str, budget: Any) -> None:
    """Not less, so nothing is wasted; not more, so the charge is honest."""
    currency = Currency.of(budget, "owner")
    priced = price(read(text, clinic._policy.catalog()), currency, epsilon=1)
    if currency.kind == "pure":
        costs = [item.mechanism.guarantee.epsilon for item in priced.measures]
        assert sum(costs) == priced.price.cost == 1
    else:
        costs = [item.mechanism.guarantee.rho for item in priced.measures]
        assert sum(costs) <= priced.price.cost
        assert float(sum(costs)) == pytest.approx(float(priced.price.cost), rel=1e-9)


def test_rho_is_charged_as_stated(make: Make) -> None:
    clinic = make(dt.ApproxDP(4, "1e-6"))
    clinic.sql(TWO, rho="0.01")
    assert clinic.budget("patients").spent.rho == Fraction(1, 100)
    assert clinic.budget("patients").total.epsilon == 4


def test_a_budget_is_spent_to_the_last_unit(make: Make) -> None:
    clinic = make(dt.PureDP(1))
    for number in range(10):
        clinic.sql(f"SELECT COUNT(*) FROM visits WHERE age > {number}", epsilon="0.1")
    assert clinic.budget("patients").left.epsilon == 0
    entries = [*clinic.ledger()]
    with pytest.raises(dt.BudgetExceeded, match=r"price epsilon=0.1 does not fit.*at most 0.*Nothing was charged"):
        clinic.sql("SELECT COUNT(*) FROM visits WHERE age > 99", epsilon="0.1")
    assert [*clinic.ledger()] == entries
    repeated = clinic.sql("SELECT COUNT(*) FROM visits WHERE age > 3", epsilon="0.1")
    assert len(repeated) == 1, "what was paid for can still be read"


def test_an_analysts_cap_is_charged_with_the_peoples_or_neither(make: Make) -> None:
    clinic = make(dt.PureDP(4))
    alice = clinic.analyst("alice", budget=dt.PureDP(1))
    with pytest.raises(dt.BudgetExceeded, match=r"own cap: epsilon at most 1"):
        alice.sql(ONE, epsilon=2)
    assert clinic.budget("patients").spent.epsilon == 0
    bob = clinic.analyst("bob", budget=dt.PureDP(3))
    bob.sql(ONE, epsilon=3)
    with pytest.raises(
        dt.BudgetExceeded, match=r"people's budget beyond what is reserved for analysts: epsilon at most 0"
    ):
        clinic.sql(ONE, epsilon="1e-15")
    alice.sql(ONE, epsilon=1)
    assert clinic.budget("patients").left.epsilon == 0


def test_where_caps_exceed_the_budget_a_refusal_has_no_figures(make: Make) -> None:
    clinic = make(dt.PureDP(4), oversubscribe=True)
    alice, bob = (clinic.analyst(name, budget=dt.PureDP(4)) for name in ("alice", "bob"))
    bob.sql(ONE, epsilon="3.5")
    with pytest.raises(dt.BudgetExceeded, match=r"^the price epsilon=1 does not fit\. Nothing was charged and no data"):
        alice.sql(ONE, epsilon=1)
    assert alice.budget().spent.epsilon == 0
    assert alice.budget().left.epsilon == 4


# After the charge


class Fails:
    """An engine that fails in some way when it is asked to run."""

    def __init__(self, engine: Any, how: Callable[[], object]) -> None:
        self._engine, self._how = engine, how

    def run(self, statement: Any) -> Any:
        self._how()
        return self._engine.run(statement)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _raise(error: Exception) -> Callable[[], object]:
    def fail() -> object:
        raise error

    return fail


def test_whatever_fails_after_the_charge_fails_the_same_and_stays_charged(clinic: dt.Curator, folder: Path) -> None:
    clinic.limits(dt.Limits(max_incidents=9))
    sound, alice = clinic._engine, clinic.analyst("alice", budget=dt.PureDP(2))
    ways = [
        _raise(RuntimeError("patient 7 has no age")),
        _raise(MemoryError("out of memory at row 12")),
        _raise(dt.PolicyError("column age is damaged")),
        lambda: (sound.close(), shutil.rmtree(folder / "snapshots")),
    ]
    told = set()
    for number, how in enumerate(ways, start=1):
        clinic._engine = Fails(sound, how)  # type: ignore[assignment]
        with pytest.raises(dt.QueryFailed) as failure:
            alice.sql(ONE, epsilon="0.5")
        error = failure.value
        told.add(str(error))
        assert error.__cause__ is None
        assert error.__context__ is None, "an exception must not remember what failed"
        assert clinic.budget("patients").spent.epsilon == Fraction(number, 2)
    assert told == {"the query failed after it was charged; the charge stands and no answer exists"}
    assert [entry.kind for entry in clinic.ledger()][-3:] == ["reserve", "fail", "incident"]
    clinic.verify()


def test_a_snapshot_deleted_between_charge_and_run(
    clinic: dt.Curator, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(clinic._engine), "has", lambda *_: True)  # it was still there a moment ago
    clinic._engine.close()
    for snapshot in (folder / "snapshots").glob("*.duckdb"):
        snapshot.unlink()
    for attempt in (1, 2):
        with pytest.raises(dt.QueryFailed):
            clinic.sql(ONE, epsilon=1)
        assert clinic.budget("patients").spent.epsilon == attempt, "a failure is not an answer to repeat"


def test_a_missing_snapshot_is_said_before_anything_is_charged(clinic: dt.Curator, folder: Path) -> None:
    paid = clinic.sql(ONE, epsilon=1)
    for snapshot in (folder / "snapshots").glob("*.duckdb"):
        snapshot.unlink()
    with pytest.raises(dt.PolicyError, match="snapshot of 'visits' is missing; refresh"):
        clinic.sql("SELECT SUM(age) FROM visits", epsilon=1)
    assert clinic.sql(ONE, epsilon=1).to_dicts(intervals=True) == paid.to_dicts(intervals=True), (
        "what was paid for is still there"
    )
    assert clinic.budget("patients").spent.epsilon == 1


def test_a_failed_answer_is_not_reused_but_its_request_is(clinic: dt.Curator) -> None:
    sound = clinic._engine
    clinic._engine = Fails(sound, _raise(RuntimeError("once")))  # type: ignore[assignment]
    with pytest.raises(dt.QueryFailed):
        clinic.sql(ONE, epsilon=1, request="r1")
    clinic._engine = sound
    with pytest.raises(dt.QueryFailed):
        clinic.sql(ONE, epsilon=1, request="r1")
    assert clinic.budget("patients").spent.epsilon == 1
    clinic.sql(ONE, epsilon=1)
    assert clinic.budget("patients").spent.epsilon == 2


def test_a_ledger_that_fails_while_settling_tells_nothing_else(clinic: dt.Curator, monkeypatch: Any) -> None:
    from dither.ledger import Ledger

    monkeypatch.setattr(Ledger, "settle", lambda *_: _raise(dt.LedgerError("disk full"))())
    monkeypatch.setattr(Ledger, "fail", lambda *_: _raise(dt.LedgerError("disk full"))())
    with pytest.raises(dt.QueryFailed) as failure:
        clinic.sql(ONE, epsilon=1)
    assert failure.value.__context__ is None
    assert clinic.budget("patients").spent.epsilon == 1
