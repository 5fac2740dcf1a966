"""How far noise reaches, checked against the definition: every remainder, every outcome of the noise, nothing drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.mechanisms import Gaussian, KeySelection, Laplace, Quantile
from dither.sql.postprocess.noise_reach import reach, reach_of_sum

NOISES = [
    Laplace(epsilon="0.3", sensitivity=1),
    Laplace(epsilon=2, sensitivity=1),
    Laplace(epsilon="0.5", sensitivity=7),
    Gaussian(rho="0.05", sensitivity=1),
    Gaussian(rho=2, sensitivity=1),
    Gaussian(rho="0.01", sensitivity=2),
]
ROOMS = [0, 1, 4, 30, 200]
MISSED = [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)]

Reach = Callable[[Any, Fraction, Fraction | None], Fraction]


def probabilities(noise: Laplace | Gaussian) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Outcomes of the noise and what they have, far beyond what matters here."""
    far = math.ceil(40 * float(noise.scale)) + 2
    outcomes = np.arange(-far, far + 1)
    if isinstance(noise, Laplace):
        q = math.exp(-1 / float(noise.scale))
        return outcomes, (1 - q) / (1 + q) * q ** np.abs(outcomes).astype(float)
    spread = float(noise.scale) * math.sqrt(2)
    ends = np.array([math.erfc(-(place - 0.5) / spread) / 2 for place in range(-far, far + 2)])
    return outcomes, np.diff(ends)


def missed_at(noise: Laplace | Gaussian, w: float, room: int, remainder: int) -> float:
    """How likely [noisy - w, noisy + w + room] misses a number that is so much more than what was measured."""
    outcomes, chances = probabilities(noise)
    missed = (outcomes - w > remainder) | (outcomes + w + room < remainder)
    return float(chances[missed].sum())


def check_reach(found: Reach) -> None:
    """Whatever remainder it is, the interval misses as seldom as stated; and with one less it would not."""
    for noise in NOISES:
        for room in ROOMS:
            for missed in MISSED:
                w = int(found(noise, missed, Fraction(room)))
                remainders = range(0, room + 1, max(1, room // 7))
                worst = max(missed_at(noise, w, room, remainder) for remainder in {*remainders, room})
                assert worst <= float(missed) * (1 + 1e-9), "it misses too often"
                assert w == 0 or missed_at(noise, w - 1, room, 0) > float(missed) * (1 - 1e-9), "it is too wide"


def test_the_worst_remainder_is_covered_and_no_more() -> None:
    check_reach(reach)


def _two_sided(mechanism: Any, missed: Fraction, room: Fraction | None) -> Fraction:
    return reach(mechanism, missed)


def _one_sided(mechanism: Any, missed: Fraction, room: Fraction | None) -> Fraction:
    return reach(mechanism, missed, None)


def _half_of_each(mechanism: Any, missed: Fraction, room: Fraction | None) -> Fraction:
    return reach(mechanism, missed, None if room is None else 2 * room)


@pytest.mark.parametrize(
    ("planted", "found"), [(_two_sided, "too wide"), (_one_sided, "too often"), (_half_of_each, "too often")]
)
def test_planted_bug_another_quantile(planted: Reach, found: str) -> None:
    with pytest.raises(AssertionError, match=found):
        check_reach(planted)


def test_planted_bug_the_remainder_is_ignored() -> None:
    noise, missed, room = NOISES[0], Fraction(1, 20), 30
    covered = missed_at(noise, int(reach(noise, missed, Fraction(room))), room, room)
    ignored = missed_at(noise, int(reach(noise, missed)), 0, room)
    assert covered <= 0.05 < 0.9 < ignored


@pytest.mark.parametrize("noise", NOISES)
def test_without_end_only_one_side_can_miss(noise: Laplace | Gaussian) -> None:
    for missed in MISSED:
        w = int(reach(noise, missed, None))
        outcomes, chances = probabilities(noise)
        assert chances[outcomes > w].sum() <= float(missed) * (1 + 1e-9)
        assert w == 0 or chances[outcomes > w - 1].sum() > float(missed) * (1 - 1e-9)
        assert w <= reach(noise, missed, Fraction(10)) <= reach(noise, missed)


def test_without_room_it_is_the_noise_itself() -> None:
    for noise in NOISES:
        assert reach(noise, Fraction(1, 20)) == noise.error("0.95")


def test_what_has_no_noise_and_what_cannot_be_asked() -> None:
    assert reach(Quantile(epsilon=1, q="0.5", lower=0, upper=9), Fraction(1, 20), Fraction(5)) == 0
    keys = KeySelection(epsilon=1, delta="1e-6")
    assert reach(keys, Fraction(1, 20)) == keys.noise.error("0.95")
    for missed, room in ((Fraction(0), Fraction(1)), (Fraction(1), Fraction(1)), (Fraction(1, 2), Fraction(-1))):
        with pytest.raises(ParameterError):
            reach(NOISES[0], missed, room)


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("missed", MISSED)
@pytest.mark.parametrize("scales", [(3, 4), (20, 20), (40, 1), (Fraction(79, 2), 40)])
def test_two_noises_together(scales: tuple[Any, Any], missed: Fraction, room: int) -> None:
    """A sum of two noises, by convolution: covered at both ends of the remainder, and hardly wider than it must be."""
    for noises in (
        [Laplace(epsilon=1 / Fraction(scale), sensitivity=1) for scale in scales],
        [Gaussian(rho=1 / (2 * Fraction(scale) ** 2), sensitivity=1) for scale in scales],
    ):
        factors = (1, -3)
        width = reach_of_sum(noises, factors, missed, Fraction(room))
        assert width is not None
        (near, some), (far, others) = map(probabilities, noises)
        spread = np.zeros(3 * (len(far) - 1) + 1)
        spread[::3] = others
        chances = np.convolve(some, spread)
        outcomes = np.arange(len(chances)) - (len(chances) - 1) // 2
        assert len(near) == len(some)

        def beyond(w: float, chances: Any = chances, outcomes: Any = outcomes) -> float:
            return float(chances[outcomes > w].sum() + chances[outcomes < -w - room].sum())

        assert beyond(float(width)) <= float(missed) * (1 + 1e-9)
        assert beyond(float(width) - 2 * 4 - 0.02 * float(width)) > float(missed) * (1 - 1e-9)


def test_noises_whose_sum_is_not_known() -> None:
    assert reach_of_sum([NOISES[0], NOISES[3]], (1, 2), Fraction(1, 20)) is None
    assert reach_of_sum([NOISES[0], NOISES[1]], (1, 0), Fraction(1, 20), Fraction(4)) == reach(
        NOISES[0], Fraction(1, 20), Fraction(4)
    )
