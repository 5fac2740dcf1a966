"""Threats 1, 26, 34, 35, 37 and 41: hostile text and numbers are refused, unread and unpaid."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import threats_harness as harness
import threats_queries as queries
from threats_clinic import COUNT

from dither.curator.curator import Curator
from dither.curator.walk import Walk
from dither.errors import DitherError, ParameterError, PolicyError, UnsupportedQuery
from dither.sql.lowering.statement import Statement

HOSTILE = [text.replace("FROM t", "FROM visits") for text in queries.REFUSED]
HOSTILE_NUMBERS: list[Any] = [
    math.nan, "nan", Decimal("NaN"), math.inf, "inf", -math.inf, -1, "-1", 0, "0", 0.0, -0.0, 1e-320, "1e-320",
    10**400, "1e400", Decimal("1e400"), Fraction(1, 10**400), True, False, np.bool_(True), "abc", "", " ", "1e", "0x1",
    "1/0",
    "١", "1_0", b"1", None, [], {}, 1j, np.float64("nan"), np.array([1.0, 2.0]), "9" * 10_000,
]  # fmt: skip


def check_refused(curator: Curator, ask: Callable[[], object], *allowed: type[DitherError]) -> DitherError:
    """Asking is refused with one of the allowed errors, without a statement and without a trace in the ledger."""
    engine = harness.Listening(curator._engine)
    curator._engine = engine  # type: ignore[assignment]
    before = [*curator.ledger()]
    with pytest.raises(allowed) as refusal:
        ask()
    assert engine.heard == [], "the engine heard something"
    assert [*curator.ledger()] == before, "the ledger changed"
    curator._engine = engine._engine
    return refusal.value


def test_hostile_sql(clinic: Curator) -> None:
    alice = clinic.analyst("alice")
    alice.explain(COUNT, epsilon=1)  # the parser is imported by the first question
    for text in HOSTILE:
        started = time.thread_time()  # work of this thread: other load on the machine does not count
        refusal = check_refused(clinic, lambda text=text: alice.sql(text, epsilon=1), UnsupportedQuery, PolicyError)
        assert time.thread_time() - started < 0.5  # an analyst cannot make a refusal slow; a bare one takes < 50 ms
        assert len(str(refusal)) < 1000
    assert clinic.verify() == len([*clinic.ledger()])


class Passthrough(Walk):
    """Planted bug: the analyst's text goes to the engine, which refuses what it does not like."""

    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        (table,) = self._policy.read().tables.values()
        try:
            self._engine.run(Statement((table,), text, (), 1))
        except Exception:  # noqa: BLE001
            raise UnsupportedQuery("no") from None
        return super().price(text, *asker, **stated)


def test_planted_text_reaches_the_engine(clinic: Curator) -> None:
    clinic._walk.__class__ = Passthrough
    with pytest.raises(AssertionError, match="the engine heard something"):
        check_refused(clinic, lambda: clinic.sql("SELECT COUNT(*) FROM read_csv('x')", epsilon=1), UnsupportedQuery)


class ChargesRefusals(Walk):
    """Planted bug: the charge comes before the check."""

    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        from dither.ledger import Charge

        self._ledger.reserve("patients", None, Charge(Fraction(1)), question=text, snapshot="1", plan="")
        return super().price(text, *asker, **stated)


def test_planted_refusals_are_charged(clinic: Curator) -> None:
    clinic._walk.__class__ = ChargesRefusals
    with pytest.raises(AssertionError, match="the ledger changed"):
        check_refused(clinic, lambda: clinic.sql("SELECT age FROM visits", epsilon=1), UnsupportedQuery)


def test_hostile_prices(clinic: Curator) -> None:
    alice = clinic.analyst("alice")
    for number in HOSTILE_NUMBERS:
        ways: list[dict[str, Any]] = [{"epsilon": number}]
        if number is not None:
            ways += [{"rho": number}, {"epsilon": 1, "confidence": number}, {"epsilon": 1, "delta": number}]
        for stated in ways:
            check_refused(clinic, lambda stated=stated: alice.sql(COUNT, **stated), ParameterError)
            check_refused(clinic, lambda stated=stated: alice.explain(COUNT, **stated), ParameterError)


class ReadsFloats(Curator):
    """Planted bug: a price is whatever float() makes of it, tested negatively."""

    def sql(self, text: str, *, epsilon: Any = None, **named: Any) -> Any:
        price = float(epsilon)
        if price <= 0:
            raise ParameterError("not positive")
        return super().sql(text, epsilon=1, **named)


def test_planted_prices_as_floats(clinic: Curator) -> None:
    clinic.__class__ = ReadsFloats
    for number in (math.nan, True, "1e400"):
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            check_refused(clinic, lambda number=number: clinic.sql(COUNT, epsilon=number), ParameterError)
