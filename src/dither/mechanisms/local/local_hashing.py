"""Local hashing: each respondent answers about a random hash of their value, so that a domain may be large."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError
from dither.exact.balls import bounds
from dither.exact.parameters import Number
from dither.mechanisms.local.randomized_response import RandomizedResponse
from dither.mechanisms.local.respondents import UNDECLARED, Respondents, listed_answers
from dither.mechanisms.local.shares import Shares
from dither.mechanisms.outcome import Outcome
from dither.neighbours import Relation
from dither.noise.entropy import keystream
from dither.noise.integers.uniform import many_below

Whole = npt.NDArray[np.int64]
Reported = Sequence[int]  # the rows of a hash, and the cell

_MOST_BITS = 20  # of a value's place: the transform that counts holds 2^20 numbers
_MOST_ROWS = 8  # 256 cells


@dataclass(frozen=True, init=False, repr=False)
class LocalHashing(Respondents):
    """epsilon-DP for each respondent, under replace: one respondent's answer changes, the number of reports is public.

    A report is a hash and the cell that the answer falls in, by randomised response among g = 2^m cells. The hash is a
    random m x b matrix of bits, times the b bits of the answer's place: two values fall together with probability 1/g
    exactly. Its error does not grow with the number of values. m is the best for epsilon, about e^epsilon + 1 cells;
    with one row this is the Hadamard response. An answer that is none of the values is reported as a uniform cell.

    Wang, Blocki, Li and Jha 2017; Acharya, Sun and Zhang 2019; docs/proofs/localhashing.md.

    >>> m = LocalHashing(epsilon=1, values=range(1000))
    >>> m.bits, m.rows, round(m.variance(10_000) ** 0.5, 4)
    (10, 2, 0.0192)
    """

    def __init__(
        self, *, epsilon: Number, values: Sequence[Hashable], relation: Relation | str = Relation.REPLACE
    ) -> None:
        super().__init__(epsilon=epsilon, values=values, relation=relation)
        if self.bits > _MOST_BITS:
            raise ParameterError(f"local hashing takes at most 2^{_MOST_BITS} values; got {len(self.values)}.")

    @property
    def bits(self) -> int:
        """How many bits a value's place has."""
        return (len(self.values) - 1).bit_length()

    @cached_property
    def rows(self) -> int:
        """Of the hash: where (e^epsilon + g - 1)^2 / (g - 1) is smallest. Any number of them is as private."""
        weight = math.exp(min(50, float(self.epsilon)))
        return min(range(1, min(self.bits, _MOST_ROWS) + 1), key=lambda m: (weight + 2**m - 1) ** 2 / (2**m - 1))

    @cached_property
    def response(self) -> RandomizedResponse:
        """What is told about the cell."""
        return RandomizedResponse(epsilon=self.epsilon, values=range(2**self.rows))

    @property
    def guarantee(self) -> PureDP:
        """That of the response about the cell: the hash is drawn whatever the answer is."""
        return self.response.guarantee

    def variance(self, reports: int) -> float:
        """Of the estimate of a share near 0, as most shares of a large domain are."""
        return Shares.of((0,), np.zeros(1), reports, *self._chances()).variances[0]

    def release(self, answers: Any) -> Outcome:
        """One report per answer, (row, ..., cell): a list for a list, an array or a column."""
        reports = self.draws(answers, 1)[0]
        if self._is_single(answers):
            return Outcome(tuple(reports.tolist()), self)
        return Outcome([tuple(report) for report in reports.reshape(-1, self.rows + 1).tolist()], self)

    def draws(self, answers: Any, size: int) -> Whole:
        """The reports of `size` independent releases, a row of numbers for each."""
        single = self._is_single(answers)
        places = np.tile(self._positions([answers] if single else listed_answers(answers)), size)
        count = places.size * self.rows
        hashes = many_below(2**self.bits, count, keystream(4 * count)).reshape(places.size, self.rows)
        cells = np.where(places == UNDECLARED, UNDECLARED, self.cells(hashes, places))
        return np.column_stack([hashes, self.response._report(cells)]).reshape(size, -1)

    def cells(self, hashes: Whole, places: Whole) -> Whole:
        """Where each hash, a row of numbers, puts each place: its bits are parities."""
        parities = np.bitwise_count(hashes & places[:, None]) & 1
        cells: Whole = parities.astype(np.int64) @ (1 << np.arange(hashes.shape[1]))
        return cells

    def plot(self) -> Any:
        """An altair chart: what is told about their cells by respondents whom a hash tells apart."""
        from dither.mechanisms.pictures.choices import plot_responses
        from dither.mechanisms.pictures.names import name

        return plot_responses(self.response, 0, 1, name(self))

    def estimate(self, reports: Iterable[Reported]) -> Shares:
        """Unbiased estimates of the shares of all values, with the variance that hashes and coins cause."""
        try:
            found = np.array([list(report) for report in listed_answers(reports)], np.int64)
        except (TypeError, ValueError, OverflowError):
            found = np.empty((0, 0), np.int64)
        if found.ndim != 2 or found.shape[1] != self.rows + 1 or not len(found):
            raise ParameterError(f"give reports as a list of {self.rows} rows of a hash and a cell each.")
        hashes, cells = found[:, :-1], found[:, -1]
        if (found < 0).any() or (hashes >= 2**self.bits).any() or (cells >= 2**self.rows).any():
            raise ParameterError("a report is none that this mechanism makes.")
        return Shares.of(self.values, self._supports(hashes, cells), len(found), *self._chances())

    def _supports(self, hashes: Whole, cells: Whole) -> Whole:
        """How many reports have a hash that puts each value into the reported cell.

        That a hash M puts x into cell y is the mean over all s of (-1)^(s.Mx + s.y), in which M and x meet as (sM).x
        only: reports are added up by sM, and one Hadamard transform counts for all x at once.
        """
        size, total = 2**self.bits, np.zeros(2**self.bits, np.int64)
        for mask in range(2**self.rows):
            mixed = np.zeros(len(cells), np.int64)
            for row in range(self.rows):
                if mask >> row & 1:
                    mixed ^= hashes[:, row]
            odd = (np.bitwise_count(cells & mask) & 1).astype(bool)
            total += np.bincount(mixed[~odd], minlength=size) - np.bincount(mixed[odd], minlength=size)
        for bit in range(self.bits):
            pairs = total.reshape(-1, 2, 1 << bit)
            total = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        return total[: len(self.values)] >> self.rows

    def _chances(self) -> tuple[float, float]:
        """How often a report supports another's value, and by how much more often the respondent's own."""
        response = self.response
        cells = len(response.values)
        (low, _) = bounds(lambda: response._gap() * (cells - 1) / cells)
        return 1 / cells, float(low)
