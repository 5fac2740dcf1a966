"""What answers guarantee, as objects that compose: exactly what the budget was charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import dither as dt
from dither.answer.wire import from_bytes, to_bytes
from dither.neighbours import Relation

BUDGETS = [dt.PureDP(8), dt.ApproxDP(8, "1e-6"), dt.ApproxDP(8, "1e-6", composition="basic")]


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp", "basic"])
def test_answers_compose_to_what_was_spent(make: Callable[..., dt.Curator], budget: Any) -> None:
    clinic = make(budget)
    answers = [clinic.sql("SELECT COUNT(*) FROM visits", epsilon="0.5")]
    answers.append(clinic.sql("SELECT region, COUNT(*), AVG(age) FROM visits GROUP BY region", epsilon="0.25"))
    if budget.delta:
        answers.append(clinic.sql("SELECT remark, COUNT(*) FROM visits GROUP BY remark", epsilon="0.25"))
    check_spent(dt.compose(answers), clinic.budget("patients").spent, budget)


def check_spent(whole: Any, spent: Any, budget: Any) -> None:
    assert whole.relation is Relation.OWNER
    if spent.rho is not None:
        assert whole.zcdp().rho == spent.rho
        assert 0 <= float(whole.zcdp().delta) - float(spent.delta) + 5e-7 < 1e-15  # half of delta is for converting
    elif budget.delta:
        assert whole.basic().epsilon == spent.epsilon
        assert float(whole.basic().delta) == pytest.approx(float(spent.delta), rel=1e-12)
    else:
        assert whole.epsilon == spent.epsilon


def test_a_repeat_guarantees_what_it_cost_when_it_was_bought(make: Callable[..., dt.Curator]) -> None:
    clinic = make()
    clinic.sql("SELECT COUNT(*) FROM visits", epsilon="0.5")
    again = clinic.sql("SELECT COUNT(*) FROM visits", epsilon="0.1")
    assert (again.charged, again.privacy) == (False, dt.PureDP("0.5", "owner"))


COMPUTED = """
    SELECT a.region, a.n, b.old FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) a
    JOIN (SELECT region, COUNT(*) AS old FROM visits WHERE age > 50 GROUP BY region) b ON a.region = b.region
"""


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp", "basic"])
@pytest.mark.parametrize("sent", [False, True], ids=["here", "over a network"])
def test_what_is_computed_from_several_answers_composes_by_what_they_cost(
    make: Callable[..., dt.Curator], budget: Any, sent: bool
) -> None:
    clinic = make(budget)
    answers = [clinic.sql(COMPUTED, epsilon="0.5"), clinic.sql("SELECT COUNT(*) FROM visits", epsilon="0.25")]
    if sent:
        answers = [from_bytes(to_bytes(answer)) for answer in answers]
    check_spent(dt.compose(answers), clinic.budget("patients").spent, budget)
    assert len(answers[0].bought) == 2


def test_planted_the_first_part_counted_for_all(
    make: Callable[..., dt.Curator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.answer.privacy.privacy_of", lambda answer: answer.bought[0])
    with pytest.raises(AssertionError):
        test_what_is_computed_from_several_answers_composes_by_what_they_cost(make, BUDGETS[0], sent=False)


def test_an_answer_that_does_not_know_says_so(make: Callable[..., dt.Curator]) -> None:
    clinic = make()
    answer = clinic.sql("SELECT COUNT(*) FROM visits", epsilon="0.5")
    with pytest.raises(dt.ParameterError, match="does not carry what it guarantees"):
        dt.compose([replace(answer, bought=())])
    with pytest.raises(dt.RelationMismatch):
        dt.compose([answer, dt.PureDP(1)])
