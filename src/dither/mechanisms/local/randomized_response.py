"""Randomised response: every respondent reports the truth or another value, by a coin of their own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.responses import ResponseDP
from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, dyadic_up, sign
from dither.mechanisms.local.respondents import UNDECLARED, Respondents, listed_answers
from dither.mechanisms.local.shares import Shares
from dither.mechanisms.outcome import Outcome
from dither.noise.entropy import keystream
from dither.noise.integers.bernoulli import coins_below
from dither.noise.integers.uniform import many_below


@dataclass(frozen=True, init=False, repr=False)
class RandomizedResponse(Respondents):
    """epsilon-DP for each respondent, under replace: one respondent's answer changes, the number of reports is public.

    With k values the truth is reported with probability e^epsilon / (e^epsilon + k - 1), any other value with
    1 / (e^epsilon + k - 1). Under add_remove the number of reports would say who took part: not private, refused. An
    answer that is none of the values, or none at all, is reported as a uniform one: no answer raises, or stops others.

    Warner 1965; Kairouz, Bonawitz and Ramage 2016; docs/proofs/randomizedresponse.md.

    >>> m = RandomizedResponse(epsilon=1)
    >>> m.values, [round(float(low), 4) for low, high in m.probability_bounds(1)]
    ((0, 1), [0.2689, 0.7311])
    """

    @property
    def guarantee(self) -> PureDP:
        """epsilon-DP; with more than two values by the exact distribution of the loss, whose curve is lower."""
        if len(self.values) == 2:
            return PureDP(self.epsilon, self.relation, proven_rho=self._rho())
        return ResponseDP(self.epsilon, len(self.values), self.relation, proven_rho=self._rho())

    def release(self, answers: Any) -> Outcome:
        """One report per answer: a list for a list, an array or a column, a single value for a single one."""
        reports = self.draws(answers, 1)[0].tolist()
        return Outcome([self.values[i] for i in reports] if isinstance(reports, list) else self.values[reports], self)

    def draws(self, answers: Any, size: int) -> npt.NDArray[np.int64]:
        """The places among the values that `size` independent releases report; of several answers, a row for each."""
        single = self._is_single(answers)
        true = self._positions([answers] if single else listed_answers(answers))
        reports = self._report(np.tile(true, size))
        return reports if single else reports.reshape(size, true.size)

    def probability_bounds(self, answer: Hashable) -> list[tuple[Fraction, Fraction]]:
        """Certified bounds of the probability of each report, for a true answer."""
        true = int(self._positions([answer])[0])
        if true == UNDECLARED:
            return [(Fraction(1, len(self.values)),) * 2 for _ in self.values]
        return [bounds(self._truth if i == true else self._other) for i in range(len(self.values))]

    def plot(self, first: Hashable | None = None, second: Hashable | None = None) -> Any:
        """An altair chart: what respondents with two different true answers report, and the ratio."""
        from dither.mechanisms.pictures.choices import plot_responses

        return plot_responses(
            self, self.values[0] if first is None else first, self.values[1] if second is None else second
        )

    def estimate(self, reports: Iterable[Hashable]) -> Shares:
        """Unbiased estimates of the shares of the true answers, with the variance that the coins cause.

        With two values the variance is exact, whatever the truth; with more it is estimated from the estimated share.
        Undeclared answers, which count as equal parts of all values, have somewhat more.
        """
        found = self._positions(listed_answers(reports))
        if not found.size:
            raise ParameterError("there are no reports to estimate from.")
        if (found == UNDECLARED).any():
            raise ParameterError(f"a report is none of the declared values: {list(self.values)!r}.")
        counts = np.bincount(found, minlength=len(self.values))
        (other, _), (gap, _) = bounds(self._other), bounds(self._gap)
        return Shares.of(self.values, counts, int(found.size), float(other), float(gap))

    def _truth(self) -> Ball:
        return 1 / (1 + (len(self.values) - 1) * (-ball(self.epsilon)).exp())

    def _other(self) -> Ball:
        return 1 / (ball(self.epsilon).exp() + len(self.values) - 1)

    def _gap(self) -> Ball:
        """By how much the truth is likelier than another value."""
        return -(-ball(self.epsilon)).expm1() * self._truth()

    def _rho(self) -> Fraction | None:
        """The Kullback-Leibler divergence, where it is proven to be the exact rho: for k - 2 <= 2 e^(epsilon/2)."""
        spare = len(self.values) - 2
        if self.epsilon > 10**4 or sign(lambda: 2 * (ball(self.epsilon) / 2).exp() - spare, undecided=-1) < 0:
            return None
        _, high = bounds(lambda: ball(self.epsilon) * self._gap())
        return dyadic_up(high, 128)

    def _report(self, true: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """With probability k / (e^epsilon + k - 1) a uniform value, else the truth; always if there is no truth."""
        size = len(self.values)
        lies = coins_below(lambda: size * self._other(), true.size, keystream(4 * true.size))
        uniform = many_below(size, true.size, keystream(16 * true.size))
        return np.where(lies | (true == UNDECLARED), uniform, true)
