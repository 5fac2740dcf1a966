"""What arithmetic knows of its results: which of them count."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dither.sql.postprocess.formulas import arithmetic, terms
from dither.sql.postprocess.formulas.estimate import Estimate, integers
from dither.sql.postprocess.formulas.terms import Given


@pytest.mark.parametrize(("divisor", "whole"), [((7, 1), False), ((20, 1), True), ((3, 0), True), ((25, 2), False)])
def test_what_is_left_of_a_count_is_whole_if_the_divisor_is(divisor: tuple[int, int], whole: bool) -> None:
    """5 / (COUNT(*) % 0.7): a remainder below 1 is no count."""
    count = Estimate(integers([333]), integers([331]), integers([335]), 0, whole=True)
    rest = terms.Apply("modulo", (terms.Part(0), terms.Number(*divisor)))
    assert rest.of(Given([count])).whole is whole
    check_quotient(terms.Apply("divide", (terms.Number(5), rest)), Fraction(divisor[0], 10 ** divisor[1]))


def check_quotient(term: terms.Term, divisor: Fraction) -> None:
    for exact in range(331, 336):
        count = Estimate(integers([333]), integers([331]), integers([335]), 0, whole=True)
        found, rest = term.of(Given([count])), exact % divisor
        assert not rest or found.lower[0] <= 5 / rest <= found.upper[0], "the quotient is missed"


def test_planted_bug_whole_remainders(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = arithmetic._exact_modulo
    monkeypatch.setattr(arithmetic, "_exact_modulo", lambda left, right: replace(exact(left, right), whole=left.whole))
    rest = terms.Apply("modulo", (terms.Part(0), terms.Number(7, 1)))
    with pytest.raises(AssertionError, match="the quotient is missed"):
        check_quotient(terms.Apply("divide", (terms.Number(5), rest)), Fraction(7, 10))
