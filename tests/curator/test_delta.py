"""delta= for Gaussian noise: charged with its question or not at all, once, and never more than there is."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.cli.main import main

OWNERS = "SELECT zip, COUNT(DISTINCT patient) FROM visits GROUP BY zip"
BY_ZIP = "SELECT zip, COUNT(*) FROM visits GROUP BY zip"
COUNT = "SELECT COUNT(*) FROM visits"
DELTA = Fraction(1, 10**6)
Make = Callable[..., dt.Curator]


def visits(patients: int = 1000, rows: int = 100) -> pa.Table:
    drawn = np.random.default_rng(5)
    owner = np.repeat(np.arange(patients), rows)
    return pa.table({"patient": owner, "zip": drawn.integers(0, 20_000, len(owner))})


@pytest.fixture
def clinic(make: Make) -> dt.Curator:
    """Epsilons and deltas add up: 100 and 4e-6 of them."""
    budget = dt.ApproxDP(100, "4e-6", composition="basic")
    columns = {"zip": dt.Int(0, 19_999, nullable=False, default=0)}
    return make(budget, visits(), max_rows_per_owner=400, columns=columns)


def spent(clinic: dt.Curator) -> tuple[Fraction | None, Fraction | None]:
    amount = clinic.budget("patients").spent
    return amount.epsilon, amount.delta


def test_delta_is_charged_where_noise_is_gaussian(clinic: dt.Curator) -> None:
    answer = clinic.sql(OWNERS, epsilon=1, delta="1e-6")
    assert spent(clinic) == (1, DELTA)
    assert dict(answer.price) == {"epsilon": "1", "delta": "1e-06"}
    assert "price: epsilon 1, delta 1e-06" in str(answer)
    exact = np.array([len(set(owners)) for owners in _by_zip().values()])
    off = np.array(answer.to_arrow().columns[-1].to_pylist()) - exact
    scale = clinic.explain(OWNERS, epsilon=1, delta="1e-6").to_dict()["columns"][0]["measures"][0]["scale"]
    assert off.std() == pytest.approx(scale, rel=0.15)
    assert off.std() < 0.5 * 400  # of Laplace noise it would be 566


def _by_zip() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {place: [] for place in range(20_000)}
    table = visits()
    for owner, place in zip(table["patient"].to_pylist(), table["zip"].to_pylist(), strict=True):
        found[place].append(owner)
    return found


def test_no_delta_is_charged_for_laplace_noise(clinic: dt.Curator) -> None:
    answer = clinic.sql(COUNT, epsilon=1, delta="1e-6")
    assert spent(clinic) == (1, 0)
    assert dict(answer.price) == {"epsilon": "1"}
    assert not clinic.sql(COUNT, epsilon=1).charged


def test_repeats_are_free_and_a_better_noise_is_not(clinic: dt.Curator) -> None:
    laplace = clinic.sql(OWNERS, epsilon=1)
    gaussian = clinic.sql(OWNERS, epsilon=1, delta="1e-6")
    assert spent(clinic) == (2, DELTA)
    again = clinic.sql(OWNERS, epsilon=1, delta="1e-6")
    assert not again.charged
    assert again.to_arrow() == gaussian.to_arrow() != laplace.to_arrow()
    assert spent(clinic) == (2, DELTA)


def test_a_spent_delta_is_refused_before_any_noise(clinic: dt.Curator) -> None:
    for epsilon in (1, 2, 3, 4):
        clinic.sql(OWNERS, epsilon=epsilon, delta="1e-6")
    assert spent(clinic) == (10, 4 * DELTA)
    entries = len([*clinic.ledger()])
    told = clinic.explain(OWNERS, epsilon=5, delta="1e-6").to_dict()
    assert any("costs more than is left" in note for note in told["notes"])
    with pytest.raises(dt.BudgetExceeded, match=r"epsilon=5, delta=1e-06 does not fit.*delta at most 0"):
        clinic.sql(OWNERS, epsilon=5, delta="1e-6")
    assert (spent(clinic), len([*clinic.ledger()])) == ((10, 4 * DELTA), entries)
    assert clinic.sql(OWNERS, epsilon=5).charged, "Laplace noise needs no delta"


def test_an_analyst_has_a_delta_of_its_own(clinic: dt.Curator) -> None:
    alice = clinic.analyst("alice", budget=dt.ApproxDP(5, "1e-6", composition="basic"))
    alice.sql(OWNERS, epsilon=1, delta="1e-6")
    with pytest.raises(dt.BudgetExceeded, match="this analyst's own cap"):
        alice.sql(OWNERS, epsilon=2, delta="1e-7")
    assert spent(clinic) == (1, DELTA)


def test_a_retry_keeps_the_noise_of_its_request(make: Make) -> None:
    """A profile that is made in between decides for another noise, and no delta; the request stays as it was."""
    budget = dt.ApproxDP(100, "4e-6", composition="basic")
    columns = {"zip": dt.Int(0, 19_999, nullable=False, default=0)}
    clinic = make(budget, visits(rows=3), max_rows_per_owner=400, columns=columns)
    made = clinic.sql(OWNERS, epsilon=1, delta="1e-6", request="monday")
    assert "delta" in made.price, "of 400 rows of each owner, Gaussian noise is the better"
    clinic.profile("visits", share="0.3")
    now = clinic.explain(OWNERS, epsilon=1, delta="1e-6").to_dict()["price"]
    assert "delta" not in now, "of 3 rows, Laplace noise is"
    paid = spent(clinic)
    again = clinic.sql(OWNERS, epsilon=1, delta="1e-6", request="monday")
    assert (again.to_arrow(), dict(again.price), spent(clinic)) == (made.to_arrow(), dict(made.price), paid)


def test_a_retry_at_another_delta_is_refused(clinic: dt.Curator) -> None:
    clinic.sql(OWNERS, epsilon=1, delta="1e-6", request="monday")
    for delta in ("1e-7", None):
        with pytest.raises(dt.PolicyError, match="another question or price"):
            clinic.sql(OWNERS, epsilon=1, delta=delta, request="monday")
    assert spent(clinic) == (1, DELTA)


def test_an_error_is_bought_with_delta(clinic: dt.Curator) -> None:
    answer = clinic.sql(OWNERS, error=200, delta="1e-6")
    assert answer.column("count").half_width <= 200
    epsilon, delta = spent(clinic)
    assert delta == DELTA
    assert epsilon is not None
    assert epsilon < Fraction(clinic.explain(OWNERS, error=200).to_dict()["price"]["epsilon"])


def test_it_is_the_same_on_the_command_line(
    clinic: dt.Curator, folder: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    clinic.close()
    assert main(["query", str(folder), OWNERS, "--epsilon", "1", "--delta", "1e-6", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["price"] == {"epsilon": "1", "delta": "1e-06"}
    assert main(["explain", str(folder), OWNERS, "--epsilon", "2", "--delta", "1e-6"]) == 0
    assert "Noise is Gaussian, for which delta is paid" in capsys.readouterr().out
