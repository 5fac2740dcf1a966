"""BigQuery's own clause is the price: what it states is charged and limits rows, and nothing else may be stated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dither as dt
from dither.curator import service

CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5, delta=.0000001, max_rows_contributed=1)"
COUNT = f"{CLAUSE} COUNT(*) AS n FROM visits"
CONFLICTS: dict[str, Any] = {"epsilon": 1, "rho": "0.01", "error": 5, "delta": "1e-8", "rows_per_owner": 2}


@pytest.fixture
def clinic(make: Callable[..., dt.Curator]) -> dt.Curator:
    return make(dt.ApproxDP(4, "1e-6"), max_rows_per_owner=3)


def check(clinic: dt.Curator) -> None:
    """What a question with the clause costs is what the same question costs with all of it stated."""
    stated = clinic.explain("SELECT COUNT(*) AS n FROM visits", epsilon="0.5", rows_per_owner=1)
    assert str(clinic.explain(COUNT, dialect="bigquery")) == str(stated)
    before = clinic.budget("patients").spent
    answer = clinic.sql(COUNT, dialect="bigquery")
    assert answer.price == {"epsilon": "0.5"}  # all keys are public: no delta is spent
    assert not clinic.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.5", rows_per_owner=1).charged
    assert clinic.budget("patients").spent != before
    assert not clinic.sql(COUNT, dialect="BigQuery", epsilon="0.50", rows_per_owner=1).charged


def test_the_clause_is_the_price(clinic: dt.Curator) -> None:
    check(clinic)


def test_a_delta_pays_for_keys_from_the_data(clinic: dt.Curator) -> None:
    text = f"{CLAUSE} remark, COUNT(*) AS n FROM visits GROUP BY remark"
    assert clinic.sql(text, dialect="bigquery").price == {"epsilon": "0.5", "delta": "1e-07"}


@pytest.mark.parametrize("name", CONFLICTS)
def test_an_argument_that_says_something_else_is_refused(clinic: dt.Curator, name: str) -> None:
    entries = len([*clinic.ledger()])
    with pytest.raises(dt.ParameterError, match=f"{name} and the clause in the text"):
        clinic.sql(COUNT, dialect="bigquery", **{name: CONFLICTS[name]})
    assert len([*clinic.ledger()]) == entries


def test_elsewhere_it_is_no_clause(clinic: dt.Curator) -> None:
    for dialect in (None, "duckdb"):
        with pytest.raises(dt.UnsupportedQuery, match="DIFFERENTIAL_PRIVACY"):
            clinic.sql(COUNT, dialect=dialect, epsilon="0.5")
    with pytest.raises(dt.UnsupportedQuery, match="cannot be read to its end"):
        clinic.sql("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) 'x", dialect="bigquery")


@pytest.mark.parametrize("dropped", ["rows_per_owner", "delta_for_keys"])
def test_planted_a_part_of_the_clause_is_passed_over(
    clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch, dropped: str
) -> None:
    honest = service.with_clause

    def careless(text: object, stated: dict[str, Any]) -> dict[str, Any]:
        found = honest(text, stated)
        return {name: value for name, value in found.items() if name != dropped or found.get("dialect") is None}

    monkeypatch.setattr(service, "with_clause", careless)
    with pytest.raises((AssertionError, dt.ParameterError)):
        check(clinic)
