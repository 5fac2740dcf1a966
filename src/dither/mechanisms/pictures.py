"""What each kind of mechanism brings to its picture: exact laws on two neighbours. For explaining, never for data.

Drawing itself, and altair with it, is imported when a picture is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.parameters import Number, exact, positive

if TYPE_CHECKING:
    from dither.mechanisms.additive import AdditiveNoise
    from dither.mechanisms.randomized_response import RandomizedResponse
    from dither.mechanisms.smooth import SmoothNoise

_SHOWN = Fraction("0.998")
_SHOWN_OF_HEAVY_TAILS = Fraction("0.93")


def plot_addition(mechanism: AdditiveNoise, value: Number, shift: Number | None) -> Any:
    """value + noise and value + shift + noise; by default they are as far apart as the sensitivity allows."""
    from dither.mechanisms.values import on_grid
    from dither.plot import Law, two_laws

    grid = mechanism.grid
    apart = max(1, math.floor(mechanism.sensitivity / grid)) * grid if shift is None else exact(shift, "shift")
    start = exact(value, "value")
    steps = on_grid([start, start + apart], grid)

    def law(at: int) -> Law:
        return Law(f"answer {_short(at * grid)}", at * grid, lambda step: mechanism.pmf(step - at))

    first, second = (law(int(at)) for at in steps)  # type: ignore[union-attr]
    return two_laws(_name(mechanism), mechanism.guarantee, first, second, grid=grid, reach=mechanism.error(_SHOWN))


def plot_smooth(mechanism: SmoothNoise, value: Number | None, smooth_sensitivity: Number | None) -> Any:
    """Neighbours as far apart as they may be: answers apart by S, the second with an S e^beta times as large."""
    from dither.plot import Law, two_laws

    low, high = mechanism.lower, mechanism.upper
    middle = Fraction(0) if low is None or high is None else (low + high) / 2
    usual = Fraction(1) if low is None or high is None else (high - low) / 64
    centre = middle if value is None else exact(value, "value")
    smooth = usual if smooth_sensitivity is None else positive(smooth_sensitivity, "smooth_sensitivity")
    wider = smooth * Fraction(math.exp(min(float(mechanism.beta), 50.0)))

    def law(name: str, at: Fraction, bound: Fraction) -> Law:
        return Law(name, at, lambda step: mechanism.pmf(step, at, bound))

    return two_laws(
        _name(mechanism),
        mechanism.guarantee,
        law(f"answer {_short(centre)}", centre, smooth),
        law(f"answer {_short(centre + smooth)}, noise e^β as wide", centre + smooth, wider),
        grid=mechanism.grid,
        reach=mechanism.spread(_SHOWN_OF_HEAVY_TAILS) * wider,
        density=True,
    )


def plot_choice(mechanism: Any, scores: Any, neighbour: Any | None) -> Any:
    """A choice by scores; by default the neighbour is one that moves the winner's probability far."""
    from dither.plot import neighbouring_scores, two_choices

    if neighbour is None:
        neighbour = neighbouring_scores(scores, mechanism.sensitivity, monotone=mechanism.monotone)
    laws = [_labelled(mechanism.probabilities(table)) for table in (scores, neighbour)]
    return two_choices(_name(mechanism), mechanism.guarantee, laws[0], laws[1])


def plot_responses(mechanism: RandomizedResponse, first: Hashable, second: Hashable) -> Any:
    """What is reported by two respondents with different answers."""
    from dither.plot import two_choices

    laws = [
        {value: float(low) for value, (low, _) in zip(mechanism.values, bounds, strict=True)}
        for bounds in (mechanism.probability_bounds(first), mechanism.probability_bounds(second))
    ]
    names = (f"the true answer is {first}", f"the true answer is {second}")
    return two_choices(_name(mechanism), mechanism.guarantee, laws[0], laws[1], names)


def _labelled(law: Any) -> dict[Hashable, float]:
    return dict(law.items() if isinstance(law, Mapping) else enumerate(law))


def _name(mechanism: Any) -> str:
    return type(mechanism).__name__


def _short(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.6g}"
