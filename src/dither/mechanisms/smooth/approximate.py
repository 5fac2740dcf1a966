"""Smooth noise whose tails are too light for pure differential privacy: what its kinds share is their calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from dither.accounting.guarantees.approx import ApproxDP
from dither.errors import ParameterError
from dither.exact.parameters import Number, positive, probability
from dither.mechanisms.smooth.smooth_noise import SmoothNoise, largest, read_beta, read_output, usable
from dither.neighbours import Relation


@dataclass(frozen=True)
class Calibration:
    """What one kind of noise says about epsilon and delta."""

    keeps: Callable[[Fraction, Fraction, Fraction, Fraction], bool]  # certainly private with this divisor and beta
    most: Callable[[Fraction], Fraction]  # no larger divisor is tried
    least: Callable[[Fraction, Fraction], Fraction]  # the divisor that the default beta leaves for shifts
    textbook: Callable[[Fraction, Fraction], tuple[Fraction, Fraction]]  # beta and divisor


@dataclass(frozen=True, init=False, repr=False)
class ApproximateSmoothNoise(SmoothNoise):
    """(epsilon, delta)-DP by a certain test of divisor and beta, which the textbook's have to pass as well."""

    epsilon: Fraction
    delta: Fraction
    calibration: str
    _kind: ClassVar[Calibration]

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        beta: Number | None = None,
        calibration: str = "exact",
        grid: Number | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
        relation: Relation | str | None = None,
    ) -> None:
        stated, chance = positive(epsilon, "epsilon"), probability(delta, "delta")
        if calibration not in ("exact", "textbook"):
            raise ParameterError(f'calibration must be "exact" or "textbook"; got {calibration!r}.')
        e, kind = usable(stated), self._kind
        textbook = kind.textbook(e, chance) if calibration == "textbook" else None
        if beta is not None:
            t = read_beta(beta, e)
        else:
            t = textbook[0] if textbook else _default_beta(kind, e, chance)
        divisor = textbook[1] if textbook else _largest_divisor(kind, e, chance, t)
        if textbook and not kind.keeps(e, chance, divisor, t):
            raise ParameterError(
                "the textbook calibration could not be shown to be private for this epsilon and delta. "
                'Use calibration="exact".'
            )
        output = read_output(grid, lower, upper, relation)
        self._keep(**output, epsilon=stated, delta=chance, calibration=calibration, beta=t, divisor=divisor)

    @property
    def guarantee(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, relation=self.relation)


@lru_cache(512)
def _largest_divisor(kind: Calibration, epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    return largest(lambda s: kind.keeps(epsilon, delta, s, beta), kind.most(epsilon))


@lru_cache(512)
def _default_beta(kind: Calibration, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The textbook's smoothness; halved, where that is too much, until a fair share is left for shifts."""
    t, least = kind.textbook(epsilon, delta)[0], kind.least(epsilon, delta)
    while not kind.keeps(epsilon, delta, least, t):
        t /= 2
    return t
