"""A number, or none: curves with a bar beside them for what is no number."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.exact.parameters import Number, exact, positive, whole
from dither.mechanisms.pictures.names import name, short
from dither.mechanisms.pictures.noise import SHOWN
from dither.mechanisms.refusal import REFUSED

if TYPE_CHECKING:
    from dither.mechanisms.keys.key_selection import KeySelection
    from dither.mechanisms.stability.bounded_local_sensitivity import BoundedLocalSensitivity
    from dither.mechanisms.stability.propose_test_release import ProposeTestRelease
    from dither.plot import Distribution

Pair = tuple[Fraction, Fraction]
_NOTHING = (Fraction(0), Fraction(0))
_SEEN_SCALES = 6


def plot_tested(mechanism: ProposeTestRelease, value: Number, distance: int | None) -> Any:
    """Answers apart by the bound, distances by one step."""
    from dither.plot import Distribution, Neighbours, steps_around, two_distributions

    grid, noise = mechanism.grid, mechanism.answer
    near = mechanism.threshold if distance is None else distance
    start = round(exact(value, "value") / grid)
    places = (start, start + round(mechanism.bound / grid))

    def distribution(at: int, steps_away: int) -> Distribution:
        passing = mechanism.published(steps_away)
        label = f"answer {short(at * grid)}, distance {steps_away}"
        beside = {repr(REFUSED): _rest(passing)}
        return Distribution(label, at * grid, lambda step: _both(passing, noise.pmf(step - at)), beside)

    steps = steps_around(map(Fraction, places), noise.error(SHOWN) / grid)
    pair = (distribution(places[0], near), distribution(places[1], near + 1))
    shown = Neighbours(*pair, grid, steps, density=mechanism.rounds)
    return two_distributions(name(mechanism), mechanism.guarantee, shown)


def plot_bounded(mechanism: BoundedLocalSensitivity, value: Number, local_sensitivity: Number | None) -> Any:
    """Two published numbers: the bound, and the answer given a likely bound.

    The local sensitivities differ by the slope, the values by the smaller of them.
    """
    from dither.plot import Neighbours, steps_around, two_distributions

    grid, slope, top = mechanism.grid, mechanism.slope, mechanism.most_steps
    usual = 3 * slope if mechanism.ceiling is None else min(3 * slope, mechanism.ceiling)
    local = positive(usual if local_sensitivity is None else local_sensitivity, "local_sensitivity")
    low = math.ceil(local / grid) * grid
    likely = mechanism._published(math.ceil(local / grid))
    start = round(exact(value, "value") / grid)
    places = (start, start + math.ceil(local / grid))
    shift, reach = mechanism.shift / grid, _SEEN_SCALES * mechanism.bound_scale_steps
    around = steps_around([at / grid + shift for at in (low, low + slope)], reach)
    bounds = [step for step in around if step > 1 and (top is None or step < top)]
    answers = steps_around(map(Fraction, places), mechanism._error(likely, SHOWN) / grid)
    published = Neighbours(
        _bound_distribution(mechanism, low),
        _bound_distribution(mechanism, low + slope),
        grid,
        bounds or [1, 2],
        number="published bound",
    )
    answered = Neighbours(
        _answer_distribution(mechanism, places[0], likely),
        _answer_distribution(mechanism, places[1], likely),
        grid,
        answers,
        number=f"answer, if the bound is {short(likely)}",
    )
    drawn = [replace(shown, density=mechanism.rounds) for shown in (published, answered)]
    return two_distributions(name(mechanism), mechanism.guarantee, *drawn)


def _bound_distribution(mechanism: BoundedLocalSensitivity, local: Fraction) -> Distribution:
    from dither.plot import Distribution

    top = mechanism.most_steps
    beside = {} if top is None else {f"{short(top * mechanism.grid)} (ceiling)": mechanism.bound_pmf(top, local)}
    label = f"local sensitivity {short(local)}"
    return Distribution(label, local, lambda step: mechanism.bound_pmf(step, local), beside)


def _answer_distribution(mechanism: BoundedLocalSensitivity, at: int, bound: Fraction) -> Distribution:
    from dither.plot import Distribution

    value = at * mechanism.grid
    return Distribution(f"answer {short(value)}", value, lambda step: mechanism.answer_pmf(step - at, bound))


def plot_keys(mechanism: KeySelection, owners: int | None) -> Any:
    """One key with this many owners and with one more: the noisy count that is shown with it, or nothing."""
    from dither.plot import Distribution, Neighbours, steps_around, two_choices, two_distributions

    optimal = mechanism.method == "optimal"
    count = mechanism.even_chance if owners is None else whole(owners, "owners", least=0)
    labels = [_owners(number) for number in (count, count + 1)]
    if optimal:
        distributions: list[dict[Any, float]] = []
        for number in (count, count + 1):
            kept = float(mechanism.keep_probability(number)[1])
            distributions.append({"shown": kept, "not shown": 1 - kept})
        return two_choices(
            name(mechanism), mechanism.guarantee, distributions[0], distributions[1], (labels[0], labels[1])
        )
    noise, least = mechanism.noise, mechanism.threshold

    def distribution(label: str, number: int) -> Distribution:
        kept = mechanism.keep_probability(number)

        def mass(step: int) -> Pair:
            return noise.pmf(step - number) if number and step >= least else _NOTHING

        return Distribution(label, Fraction(number), mass, {"not shown": _rest(kept)})

    drawn = steps_around([Fraction(max(count, least)), Fraction(max(count + 1, least))], noise.error(SHOWN))
    steps = sorted({least - 1, least, *(step for step in drawn if step > least)})
    pair = (distribution(labels[0], count), distribution(labels[1], count + 1))
    shown = Neighbours(*pair, Fraction(1), steps, number="noisy count shown")
    return two_distributions(name(mechanism), mechanism.guarantee, shown)


def _owners(number: int) -> str:
    return f"a key of {number} owner" + ("" if number == 1 else "s")


def _both(one: Pair, two: Pair) -> Pair:
    return one[0] * two[0], one[1] * two[1]


def _rest(chance: Pair) -> Pair:
    return 1 - chance[1], 1 - chance[0]
