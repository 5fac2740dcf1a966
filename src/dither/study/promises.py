"""What a study promises each participant, by how many aggregators are honest."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.exact.balls import Ball, ball, bounds, float_up
from dither.exact.parameters import whole

if TYPE_CHECKING:
    from dither.study.study import Study


def epsilon_with(study: Study, honest: int) -> float:
    """The epsilon of a participant if so many aggregators are honest, rounded up; infinite if there is no promise.

    Fewer than a study with `noise = "split"` counts on add too little noise, more peaked than Laplace noise: each sum
    that a report moves by d costs ln(P[noise = 0] / P[noise = d]).
    """
    whole(honest, "honest", least=0, most=len(study.aggregators))
    needed = study.noise.honest if study.noise.split else 1
    if honest >= needed:
        return float_up(study.epsilon)
    if not honest:
        return math.inf
    total = Fraction(0)
    for question in study.questions:
        shape, scale = Fraction(honest, needed), study.scale(question)
        _, high = bounds(lambda s=shape, c=scale, d=question.largest: peak(s, c, d))  # type: ignore[misc]
        total += high * (question.sensitivity // question.largest)
    return float_up(total)


def peak(shape: Fraction, scale: Fraction, distance: int) -> Ball:
    """ln(P[X = Y] / P[X = Y + distance]), X and Y negative binomial of this shape with q = exp(-1/scale)."""
    whole_shape, power = ball(shape), (-2 / ball(scale)).exp()
    same = power.hypgeom_2f1(whole_shape, whole_shape, 1)
    apart = power.hypgeom_2f1(whole_shape, whole_shape + distance, distance + 1)
    ways = whole_shape.lgamma() + ball(distance + 1).lgamma() - (whole_shape + distance).lgamma()
    return (same / apart).log() + ways + distance / ball(scale)


def promise(study: Study) -> str:
    """In words, for those who decide whether to take part."""
    count = len(study.aggregators)
    needed = study.noise.honest if study.noise.split else 1
    lines = [f"epsilon {study.epsilon} for each participant if {needed} of {count} aggregators {_are(needed)} honest"]
    lines += [f"{epsilon_with(study, fewer):.3g} if only {fewer} {_are(fewer)}" for fewer in reversed(range(1, needed))]
    return "; ".join([*lines, "nothing if none is"]) + "."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
