"""The sparse vector technique: many comparisons with a threshold, of which only the positive ones are paid for."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.pure import PureDP
from dither.errors import BudgetExceeded, ParameterError
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, exact, positive, probability, whole
from dither.mechanisms.additive.addition import check_scale
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.refusal import REFUSED_CODE
from dither.mechanisms.scores import read_rule
from dither.mechanisms.sealed_values import Exact, _unseal
from dither.mechanisms.sensitivity_bounds import Norms, check_steps
from dither.mechanisms.values import on_grid, times_grid
from dither.neighbours import Relation
from dither.noise import discrete_laplace


@dataclass(frozen=True, init=False, repr=False)
class SparseVector(Frozen):
    """(epsilon + answer_epsilon)-DP for any number of queries, each moving by at most `sensitivity` between neighbours.

    A session compares query after query with a public threshold and says "above" or "below"; after `positives` times
    "above" it is over. Noise in grid steps, discrete Laplace, D = floor(sensitivity / grid), c = positives:
    on the threshold, once, of scale D/e1; on each query of scale 2cD/e2, or cD/e2 with monotone=True (all queries move
    the same way between any two neighbours: counts under add_remove, never under replace); e1 + e2 = epsilon.
    The noisy value that was compared is never shown. With answer_epsilon=e3 each positive also gets a number, with
    fresh noise of scale cD/e3.

    Dwork, Naor, Reingold, Rothblum and Vadhan 2009; Lyu, Su and Li 2017, Algorithm 7; docs/proofs/sparsevector.md.

    >>> session = SparseVector(epsilon=1, sensitivity=1, positives=2).session(threshold=100)
    >>> [session.ask(count).value for count in (0, 4000, 10, 5000)]
    [False, True, False, True]
    >>> session.left
    0
    """

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool
    relation: Relation
    positives: int
    answer_epsilon: Fraction | None
    threshold_share: Fraction
    grid: Fraction

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: Number | Norms,
        positives: int = 1,
        monotone: bool = False,
        answer_epsilon: Number | None = None,
        threshold_share: Number | None = None,
        grid: Number = 1,
        relation: Relation | str | None = None,
    ) -> None:
        self._keep(**read_rule(epsilon, sensitivity, monotone, relation), grid=positive(grid, "grid"))
        self._keep(
            positives=whole(positives, "positives", most=10**9),
            answer_epsilon=None if answer_epsilon is None else positive(answer_epsilon, "answer_epsilon"),
        )
        share = _best_share(self._moves * self.positives) if threshold_share is None else threshold_share
        self._keep(threshold_share=probability(share, "threshold_share"))
        check_steps(self.sensitivity_steps)
        for scale in (self.threshold_scale, self.query_scale, self.answer_scale):
            if scale is not None:
                check_scale(scale)

    @property
    def guarantee(self) -> PureDP:
        """Of a whole session, whatever is asked in it and however many answers are "below"."""
        return PureDP(self.epsilon + (self.answer_epsilon or 0), self.relation)

    @property
    def sensitivity_steps(self) -> int:
        """How many grid steps one query can move between neighbours."""
        return math.floor(self.sensitivity / self.grid)

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the noise on the threshold, in grid steps."""
        return self.sensitivity_steps / (self.epsilon * self.threshold_share)

    @property
    def query_scale(self) -> Fraction:
        """The scale of the noise on each query, in grid steps."""
        return self._moves * self.positives * self.sensitivity_steps / (self.epsilon * (1 - self.threshold_share))

    @property
    def answer_scale(self) -> Fraction | None:
        """The scale of the noise on each number, in grid steps, if numbers are paid for."""
        return None if self.answer_epsilon is None else self.positives * self.sensitivity_steps / self.answer_epsilon

    def session(self, threshold: Number) -> Session:
        """A new session, with fresh noise on the threshold. Every session costs the whole guarantee."""
        return Session(self, int(on_grid(exact(threshold, "threshold"), self.grid)))

    def probabilities(self, values: Iterable[Any], threshold: Number = 0) -> dict[tuple[bool, ...], float]:
        """The probability of each transcript of a session that is asked these values. As private as the values.

        A transcript is as long as the session lasts: it ends when nothing is left, or with the values. Errors are far
        below the precision of floats around 1.
        """
        from dither.mechanisms.sparse.transcripts import transcript_distribution

        limit = int(on_grid(exact(threshold, "threshold"), self.grid))
        steps = [int(on_grid(exact(value, "a value"), self.grid)) - limit for value in values]
        return {transcript: float(sum(ends) / 2) for transcript, ends in transcript_distribution(self, steps).items()}

    def plot(
        self, values: Sequence[Any] | None = None, neighbour: Sequence[Any] | None = None, threshold: Number = 0
    ) -> Any:
        """An altair chart: how likely each transcript is on these values and on a neighbour's, and their ratio.

        For explaining, never for data.
        """
        from dither.mechanisms.pictures.choices import plot_stream

        return plot_stream(self, values, neighbour, threshold)

    def draws(self, values: Iterable[Any], size: int) -> npt.NDArray[np.int64]:
        """What `size` independent sessions against the threshold 0 say to the same values, a row for each session.

        1 above, 0 below, -1 once a session is over; with answer_epsilon the noisy number in grid steps above,
        REFUSED_CODE below, and one less once a session is over. Every session costs the whole guarantee.
        """
        return self._sessions([int(on_grid(value, self.grid)) for value in values], 0, size)

    def _sessions(self, steps: Sequence[int], threshold_steps: int, size: int) -> npt.NDArray[np.int64]:
        below = 0 if self.answer_scale is None else REFUSED_CODE
        said = np.full((size, len(steps)), below - 1, np.int64)
        limits = threshold_steps + discrete_laplace(self.threshold_scale, size)
        left = np.full(size, self.positives)
        for place, value in enumerate(steps):
            above = value + discrete_laplace(self.query_scale, size) >= limits
            number = 1 if self.answer_scale is None else value + discrete_laplace(self.answer_scale, size)
            said[left > 0, place] = np.where(above, number, below)[left > 0]
            left -= above & (left > 0)
        return said

    @property
    def _moves(self) -> int:
        """How many sensitivities the noise of a positive query must hide."""
        return 1 if self.monotone else 2


class Session:
    """One run of the sparse vector technique. It cannot be copied or stored: a copy could be asked too often."""

    __slots__ = ("_lock", "_noisy_threshold", "left", "mechanism")

    mechanism: SparseVector
    left: int  # how many times it may still say "above"

    def __init__(self, mechanism: SparseVector, threshold_steps: int) -> None:
        self.mechanism = mechanism
        self.left = mechanism.positives
        self._lock = threading.Lock()
        self._noisy_threshold = threshold_steps + int(discrete_laplace(mechanism.threshold_scale))

    @property
    def guarantee(self) -> PureDP:
        return self.mechanism.guarantee

    def ask(self, value: Any) -> Outcome:
        """Whether the value is above the threshold, noisily: True or False; with answer_epsilon, a number or False."""
        with self._lock:
            if not self.left > 0:
                raise BudgetExceeded(
                    f"the session has said {self.mechanism.positives} times that a value is above its threshold and is "
                    "over; start another one, which costs its whole guarantee again."
                )
            rule = self.mechanism
            # Both noises come first: their cost and their failures do not depend on the value.
            noise = int(discrete_laplace(rule.query_scale))
            extra = None if rule.answer_scale is None else int(discrete_laplace(rule.answer_scale))
            steps = _unseal(value) if isinstance(value, Exact) else on_grid(value, rule.grid)
            if not isinstance(steps, int):
                raise ParameterError("a session answers one exact number at a time; got several.")
            above = steps + noise >= self._noisy_threshold
            if not above:
                return Outcome(False, rule)
            self.left -= 1
            return Outcome(True if extra is None else times_grid(steps + extra, rule.grid), rule)

    def __repr__(self) -> str:
        return f"Session({self.mechanism!r}, left={self.left})"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a sparse vector session cannot be copied or stored; start a new one.")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


def _best_share(moves: int) -> Fraction:
    """1 / (1 + moves^(2/3)), the share of the threshold that makes the variance of the comparison smallest."""
    return Fraction(1 / (1 + moves ** (2 / 3))).limit_denominator(10**6)
