"""A question left reserved is run after an upgrade: mechanisms and sensitivities are compared, never statements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.accounting.currency.currency import Currency, Price
from dither.answer.noisy_measures import Released
from dither.ledger import Charge
from dither.sensitivity import Sensitivity
from dither.sql.pricing import price as pricing
from dither.sql.pricing.recipe import Recipe

TEXT = "SELECT ward, COUNT(*), AVG(hours) FROM shifts GROUP BY ward"
KEYS = "SELECT name, COUNT(*) FROM shifts GROUP BY name"


@pytest.fixture(params=["pure", "zcdp"])
def clinic(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dt.Curator]:
    budget = dt.PureDP(4) if request.param == "pure" else dt.ApproxDP(4, "1e-6")
    rows = [{"nurse": n, "hours": n % 12, "ward": n % 3 + 1, "name": "anna"} for n in range(60)]
    columns = {"hours": dt.Int(0, 12), "ward": dt.Int(1, 3, nullable=False, default=1), "name": dt.Text()}
    with dt.Curator.open(tmp_path / "clinic") as curator:
        curator.people("staff", budget=budget)
        source = pa.Table.from_pylist(rows)
        curator.register("shifts", source, people="staff", owner="nurse", max_rows_per_owner=2, columns=columns)
        yield curator


def leave(clinic: dt.Curator, plan: str | None = None, text: str = TEXT) -> int:
    """A reservation whose process died before it ran."""
    priced = clinic._walk.price(text, epsilon=1)
    charge = Charge(priced.price.cost, priced.price.delta)
    reservation = clinic._ledger.reserve(
        "staff",
        None,
        charge,
        question=priced.known_as,
        snapshot=priced.snapshot,
        plan=plan or priced.recipe(),
        request="r1",
    )
    return reservation.id


def first_version(clinic: dt.Curator, text: str = TEXT) -> str:
    """The plan as a dither of then would have recorded it."""
    recipe = Recipe.of(clinic._walk.price(text, epsilon=1))
    decided = {"strategy": recipe.strategy} if recipe.strategy else {}
    steps = {**decided, "mechanisms": recipe.mechanisms, "statements": ["SELECT 1"]}
    return json.dumps(steps, sort_keys=True, separators=(",", ":"))


def check_answered(clinic: dt.Curator, text: str = TEXT) -> None:
    spent = clinic.budget("staff").spent
    assert clinic.sql(text, epsilon=1, request="r1").charged
    assert not clinic.sql(text, epsilon=1, request="r1").charged
    assert clinic.budget("staff").spent == spent
    assert clinic._ledger.pending() == []


def check_failed(clinic: dt.Curator, text: str = TEXT) -> None:
    """It stays charged, is never answered, and nothing of the data has been read."""
    ran: list[Any] = []
    run, clinic._engine.run = clinic._engine.run, lambda statement: ran.append(statement) or run(statement)  # type: ignore
    spent = clinic.budget("staff").spent
    for _ in range(2):
        with pytest.raises(dt.QueryFailed):
            clinic.sql(text, epsilon=1, request="r1")
    assert clinic.budget("staff").spent == spent
    assert clinic._ledger.pending() == []
    assert ran == []


def otherwise(aggregate: Any) -> Any:
    """The same statement as another version might write it."""
    made = LOWER(aggregate)
    return replace(made, sql=f"SELECT * FROM ({made.sql}) AS rewritten")


LOWER = pricing.lower
CHECK = pricing.check


def twice(aggregates: Any, **stated: Any) -> Any:
    """A guard that knows better what one owner can do."""
    checked = CHECK(aggregates, **stated)
    return [[Sensitivity(2 * s.l1, 4 * s.l2_squared, 2 * s.linf, s.relation) for s in one] for one in checked]


@pytest.mark.parametrize("version", [1, 2])
def test_a_statement_may_be_written_differently(
    clinic: dt.Curator, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(clinic, first_version(clinic) if version == 1 else None)
    before = [statement.sql for statement in clinic._walk.price(TEXT, epsilon=1).statements]
    monkeypatch.setattr(pricing, "lower", otherwise)
    assert [statement.sql for statement in clinic._walk.price(TEXT, epsilon=1).statements] != before
    check_answered(clinic)


@pytest.mark.parametrize("version", [1, 2])
def test_another_sensitivity_settles_as_failed(
    clinic: dt.Curator, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(clinic, first_version(clinic) if version == 1 else None)
    monkeypatch.setattr(pricing, "check", twice)
    check_failed(clinic)


def smaller(plan: str, norm: str) -> str:
    """A plan that was recorded with a smaller sensitivity, whichever noise was to cover it."""
    document = json.loads(plan)
    for measure in document["measures"]:
        measure["sensitivity"][norm] = str(Fraction(measure["sensitivity"][norm]) / 2)
    return json.dumps(document)


@pytest.mark.parametrize("norm", ["l1", "l2_squared", "linf"])
def test_a_smaller_recorded_sensitivity_settles_as_failed(clinic: dt.Curator, norm: str) -> None:
    leave(clinic, smaller(clinic._walk.price(TEXT, epsilon=1).recipe(), norm))
    check_failed(clinic)


@pytest.mark.parametrize("old", [True, False])
def test_other_noise_than_recorded_settles_as_failed(clinic: dt.Curator, old: bool) -> None:
    plan = first_version(clinic) if old else clinic._walk.price(TEXT, epsilon=1).recipe()
    less = plan.replace('"sensitivity":"2"', '"sensitivity":"1"')
    assert less != plan
    leave(clinic, less)
    check_failed(clinic)


PRICE_OF = Currency.price_of


def dearer(self: Currency, **stated: Any) -> Price:
    return Price(PRICE_OF(self, **stated).cost * Fraction(11, 10))


def cheaper(self: Currency, **stated: Any) -> Price:
    return Price(PRICE_OF(self, **stated).cost * Fraction(9, 10))


def test_a_higher_price_settles_as_failed(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(clinic)
    monkeypatch.setattr(Currency, "price_of", dearer)
    check_failed(clinic)


def test_a_lower_price_is_answered_under_the_charge_that_was_made(
    clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(clinic)
    recorded = Recipe.of(clinic._walk.price(TEXT, epsilon=1)).mechanisms
    monkeypatch.setattr(Currency, "price_of", cheaper)
    assert Recipe.of(clinic._walk.price(TEXT, epsilon=1)).mechanisms != recorded
    check_answered(clinic)
    settled = clinic._ledger.requested("staff", None, "r1")
    assert settled is not None
    assert settled.answer is not None
    assert tuple(item.mechanism for item in Released.from_bytes(settled.answer).measures) == recorded


@pytest.mark.parametrize("price", [dearer, cheaper])
def test_an_answer_outlives_its_price(clinic: dt.Curator, price: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(clinic)
    check_answered(clinic)
    monkeypatch.setattr(Currency, "price_of", price)
    assert not clinic.sql(TEXT, epsilon=1, request="r1").charged


ADDITIVE = pricing.additive


def wider(kind: str, share: Fraction, sensitivity: Sensitivity) -> Any:
    """The accounting of now, by which a price buys less."""
    return ADDITIVE(kind, share * Fraction(9, 10), sensitivity)


def test_a_mechanism_that_costs_more_now_settles_as_failed(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(clinic)
    monkeypatch.setattr(pricing, "additive", wider)
    check_failed(clinic)


def test_another_stated_price_is_refused_and_nothing_settles(clinic: dt.Curator) -> None:
    leave(clinic)
    with pytest.raises(dt.PolicyError, match="used before with another question or price"):
        clinic.sql(TEXT, epsilon="0.5", request="r1")
    check_answered(clinic)


@pytest.mark.parametrize("clinic", ["zcdp"], indirect=True)
def test_selected_keys_are_run_again(clinic: dt.Curator) -> None:
    leave(clinic, text=KEYS)
    check_answered(clinic, KEYS)


def _anything(self: Recipe, run: Recipe) -> bool:
    return True


def _never(priced: Any, known: Any) -> bool:
    return False


def with_smaller(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(clinic, smaller(clinic._walk.price(TEXT, epsilon=1).recipe(), "l1"))


def with_twice(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(clinic)
    monkeypatch.setattr(pricing, "check", twice)


@pytest.mark.parametrize("prepare", [with_smaller, with_twice])
def test_planted_bug_the_comparison_is_left_out(
    clinic: dt.Curator, prepare: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(clinic, monkeypatch)
    monkeypatch.setattr(Recipe, "allows", _anything)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_failed(clinic)


def test_planted_bug_statements_are_compared(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Recipe.of

    def with_statements(priced: Any) -> Recipe:
        return replace(made(priced), snapshot=str([statement.sql for statement in priced.statements]))

    monkeypatch.setattr(Recipe, "of", with_statements)
    leave(clinic)
    monkeypatch.setattr(pricing, "lower", otherwise)
    with pytest.raises(dt.QueryFailed):
        check_answered(clinic)


def test_planted_bug_a_higher_price_is_not_seen(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(clinic)
    monkeypatch.setattr(Currency, "price_of", dearer)
    monkeypatch.setattr("dither.curator.recall.repriced", _never)
    with pytest.raises(dt.PolicyError, match="used before"):
        check_failed(clinic)
