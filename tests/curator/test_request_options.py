"""What is stated with a question has a known name and type, whatever a server was sent."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither as dt
from dither.curator import service as services
from dither.curator.principal import Principal
from dither.sql.planner.strategy import Strategy

COUNT = "SELECT COUNT(*) AS n FROM visits"
ALICE = Principal.analyst("alice")
UNKNOWN = {
    "strategy": Strategy(rows=10**6),
    "profile": None,
    "analyst": None,
    "principal": Principal.curator(),
    "text": COUNT,
    "self": None,
    "question": None,
    "": 1,
    "\ud800\x1b[2J": 1,
}
NO_NUMBERS: list[Any] = [True, [], {}, [1], {"a": 1}, b"1", "x", "", float("nan"), object(), (), 1j, np.bool_(True)]
NO_TEXTS: list[Any] = [1, True, [], {}, b"x", ("r",), object(), "\ud800"]
WRONG: dict[str, list[Any]] = {
    **dict.fromkeys(("epsilon", "rho", "error", "delta"), NO_NUMBERS),
    "confidence": [*NO_NUMBERS, None],
    "request": NO_TEXTS,
    "dialect": NO_TEXTS,
    "rows_per_owner": [True, "3", 1.5, [], {}, object(), 0, -1],
}


@pytest.fixture
def service(clinic: dt.Curator) -> Any:
    clinic.analyst("alice", budget=dt.PureDP(1))
    return clinic._service


def check_refused(service: Any, name: str, value: Any) -> None:
    stated = {"epsilon": "0.25"} if name not in ("rho", "error") else {}
    for act in (service.ask, service.explain):
        with pytest.raises(dt.ParameterError) as caught:
            act(ALICE, COUNT, **{**stated, name: value})
        document = caught.value.document()
        assert document["fields"] == {"name": name}
        assert document["message"].isprintable()
    assert len(list(service.history(ALICE))) == 1, "nothing was charged"


@pytest.mark.parametrize("name", UNKNOWN)
def test_other_names_are_refused(service: Any, name: str) -> None:
    check_refused(service, name, UNKNOWN[name])


@pytest.mark.parametrize("name", WRONG)
def test_other_types_are_refused(service: Any, name: str) -> None:
    for value in WRONG[name]:
        check_refused(service, name, value)


@pytest.mark.parametrize(("name", "value"), [*UNKNOWN.items(), ("request", "\ud800"), ("dialect", {})])
def test_planted_bug_all_is_passed_on(service: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    monkeypatch.setattr(services, "checked", lambda stated, _: stated)
    with pytest.raises((pytest.fail.Exception, AssertionError, TypeError, AttributeError, UnicodeEncodeError)):
        check_refused(service, name, value)


def test_a_request_has_no_explanation(clinic: dt.Curator) -> None:
    with pytest.raises(dt.ParameterError, match=r"^request cannot be stated with a question; it takes epsilon, rho,"):
        clinic.explain(COUNT, epsilon=1, request="r1")  # type: ignore[call-arg]


@pytest.mark.parametrize("quarter", ["0.25", "1/4", 0.25, Fraction(1, 4), Decimal("0.25")])
def test_numbers_are_read_as_before(service: Any, quarter: Any) -> None:
    stated = {"confidence": quarter, "rows_per_owner": np.int64(2), "dialect": None, "rho": None}
    assert service.explain(ALICE, COUNT, epsilon=quarter, **stated).to_dict()["price"]["epsilon"] == "0.25"
    assert service.ask(ALICE, COUNT, epsilon=quarter, request=None, dialect="mysql").charged


@pytest.mark.parametrize("text", [None, 1, True, [], {}, b"SELECT 1", ["SELECT 1"], "\ud800", COUNT + " -- \ud800"])
def test_a_question_is_text(service: Any, text: Any) -> None:
    for act in (service.ask, service.explain):
        for dialect in (None, "postgres", "mysql"):
            with pytest.raises(dt.UnsupportedQuery):
                act(ALICE, text, epsilon="0.25", dialect=dialect)


@pytest.mark.parametrize("table", [None, 1, [], {}, b"visits", "\ud800"])
def test_the_name_of_a_table_is_text(service: Any, table: Any) -> None:
    with pytest.raises(dt.ParameterError, match=r"^table "):
        service.profile(ALICE, table)
