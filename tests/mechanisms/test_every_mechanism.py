"""check_mechanism over the registry, and broken mechanisms that it must reject."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import mechanisms_checks_of_smooth as smooth
import pytest
from mechanisms_check_mechanism import BATTERIES, cases, check_mechanism

import dither
from dither.lab.registry import DISTRIBUTIONS, EVERY, NOISES, SMOOTH
from dither.mechanisms import Exponential, Laplace, SmoothCauchy
from dither.mechanisms.outcome import Outcome


@pytest.mark.parametrize("case", [case for entry in EVERY for case in cases(entry)], ids=str)
def test_check_mechanism(case):
    case.run()


def test_every_public_mechanism_is_in_the_registry():
    public = {name for name, home in dither.HOMES.items() if home.startswith("dither.mechanisms")}
    mechanisms = {name for name in public if hasattr(getattr(dither, name), "guarantee")}
    assert {entry.make.__name__ for entry in EVERY} == mechanisms
    assert {type(entry) for entry in EVERY} == set(BATTERIES)


def test_mechanisms_whose_noise_depends_on_the_relation_are_checked_under_both():
    under_replace = {
        entry.make.__name__
        for entry in DISTRIBUTIONS
        if any(example.get("relation") == "replace" for example in entry.examples)
    }
    assert under_replace >= {"Exponential", "PermuteAndFlip", "NoisyMax", "SparseVector"}
    assert under_replace >= {"KeySelection", "Quantile", "Quantiles", "ListedQuantile", "ListedQuantiles"}


class TooLittleNoise(Laplace):
    """Planted bug: three per cent less noise than the claim needs."""

    @property
    def scale_steps(self):
        return super().scale_steps * Fraction(97, 100)


class Forgetful(Exponential):
    """Planted bug: the factor 2 of scores that are not monotone is forgotten."""

    @property
    def rate(self):
        return 2 * super().rate


class Generous(SmoothCauchy):
    """Planted bug: a smooth bound may be steeper than the noise allows for."""

    def __init__(self, **parameters):
        super().__init__(**parameters)
        object.__setattr__(self, "beta", 3 * self.beta)


@pytest.mark.parametrize(
    ("entry", "broken"),
    [(NOISES[0], TooLittleNoise), (DISTRIBUTIONS[0], Forgetful), (SMOOTH[0], Generous)],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_broken_mechanisms_are_rejected(entry, broken):
    with pytest.raises(AssertionError):
        check_mechanism(dataclasses.replace(entry, make=broken))


def test_an_answer_that_tells_its_scale_is_caught():
    """Planted bug of threat 54."""

    class Telling(SmoothCauchy):
        def release(self, value, smooth_sensitivity):
            answer = super().release(value, smooth_sensitivity)
            return Released(answer.value, self, Fraction(smooth_sensitivity) / self.divisor)

    @dataclasses.dataclass(frozen=True, eq=False)
    class Released(Outcome):
        scale: Fraction

        def interval(self, confidence):
            return self.value - self.scale, self.value + self.scale

    assert smooth.hides_its_scale(SmoothCauchy(epsilon=1))
    assert not smooth.hides_its_scale(Telling(epsilon=1))
