"""The auditor's many outputs at once are what releases give: from the same random numbers, or by the exact law."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither.exact.balls import bounds
from dither.lab.audit.draws.intervals import Intervals
from dither.lab.audit.draws.real_draws import LARGEST, Numbers, settled
from dither.lab.audit.draws.rejection import Rounds, rejected_draws, settled_by_rounds
from dither.lab.audit.draws.releases import releases
from dither.mechanisms import (
    REFUSED,
    BoundedLocalSensitivity,
    ProposeTestRelease,
    Quantile,
    SmoothCauchy,
    SmoothGaussian,
    SmoothLaplace,
    SmoothLaplaceLogNormal,
    SmoothLomax,
    SmoothStudentT,
    SparseVector,
    StableRelease,
)
from dither.mechanisms.refusal import REFUSED_CODE
from dither.mechanisms.sparse import sparse_vector
from dither.mechanisms.stability import bounded_local_sensitivity, distance_test
from dither.noise.reals.cauchy import GeneralisedCauchy
from dither.noise.reals.rounded_reals import Rounding, mass

FALSE_ALARM = 1e-9
NOISES = range(-4, 5)

SMOOTH = [
    SmoothCauchy(epsilon=1),
    SmoothCauchy(epsilon="0.1", beta="0.02"),
    SmoothStudentT(epsilon=1),
    SmoothLomax(epsilon=1),
    SmoothLaplace(epsilon=1, delta="1e-6"),
    SmoothGaussian(epsilon=1, delta="1e-6"),
    SmoothLaplaceLogNormal(rho="0.5"),
]


class Given:
    """Noise from a list instead of the sampler: one by one, or as many as are asked for."""

    def __init__(self, noises):
        self.left = list(noises)

    def __call__(self, scale, size=None, *, public=True):
        taken, self.left = self.left[: size or 1], self.left[size or 1 :]
        return taken[0] if size is None else np.array(taken, np.int64)


@pytest.mark.parametrize("positives", [1, 2])
@pytest.mark.parametrize("values", [(0, 0, 0), (-2, 3, 1), (5, -5, 0)])
def test_sessions_say_what_a_session_says(positives, values, monkeypatch):
    """For all combinations of four noises."""
    rule = SparseVector(epsilon=1, sensitivity=1, positives=positives)
    noises = np.array(list(itertools.product(NOISES, repeat=4)))
    monkeypatch.setattr(sparse_vector, "discrete_laplace", Given(noises.T.reshape(-1)))
    said = rule._sessions(values, 1, len(noises))
    for row, found in zip(noises.tolist(), said.tolist(), strict=True):
        monkeypatch.setattr(sparse_vector, "discrete_laplace", Given(row))
        session = rule.session(1)
        for value, answer in zip(values, found, strict=True):
            if session.left:
                assert session.ask(value).value == answer
            else:
                assert answer == -1


@pytest.mark.parametrize("distance", [0, 3, 7, 100, float("inf"), 10**30])
def test_tests_pass_as_one_test_does(distance, monkeypatch):
    stable = StableRelease(epsilon=1, delta="1e-3")
    proposing = ProposeTestRelease(epsilon=1, delta="1e-3", bound=2, grid=1)
    noises = range(-20, 21)
    for mechanism, more in ((stable, ()), (proposing, (5,))):
        monkeypatch.setattr(distance_test, "discrete_laplace", Given(noises))
        monkeypatch.setattr(
            type(proposing.answer), "_noise", lambda self, size: 4 if size is None else np.full(size, 4)
        )
        value = more[0] if more else "a"
        many = releases(mechanism)((value, distance), len(noises)).tolist()
        for noise, found in zip(noises, many, strict=True):
            monkeypatch.setattr(distance_test, "discrete_laplace", Given([noise]))
            alone = mechanism.release(value, distance).value
            assert (alone is REFUSED) == (found == REFUSED_CODE)
            assert alone is REFUSED or found == (alone if more else 0)


def test_bounds_and_values_are_those_of_a_release(monkeypatch):
    """The second noise is a function of its scale here, so a wrong scale shows."""
    mechanism = BoundedLocalSensitivity(epsilon=1, delta="1e-3", grid=1, ceiling=20)
    noises = [*range(-30, 31), 1 << 61]

    def given(first):
        queue = Given(first)

        def draw(scale, size=None, *, public=True):
            if public:
                return queue(scale, size)
            return int(scale) if size is None else np.full(size, int(scale))

        return draw

    for rule in (mechanism, BoundedLocalSensitivity(epsilon=1, delta="1e-3", grid=1)):
        monkeypatch.setattr(bounded_local_sensitivity, "discrete_laplace", given(noises))
        many = releases(rule)((7, 3), len(noises)).tolist()
        for noise, (bound, value) in zip(noises, many, strict=True):
            monkeypatch.setattr(bounded_local_sensitivity, "discrete_laplace", given([noise]))
            alone = rule.release(7, 3)
            assert alone.bound == bound
            assert value == (REFUSED_CODE if alone.value is REFUSED else alone.value)


@pytest.mark.parametrize("mechanism", SMOOTH, ids=lambda mechanism: type(mechanism).__name__)
@pytest.mark.parametrize("data", [(0, 1), (Fraction(1, 3), 7), (Fraction(-5, 2), Fraction(1, 2**38))])
def test_real_noise_is_that_of_the_exact_arithmetic(mechanism, data):
    """From the same random bits, output by output."""
    centre, scale = mechanism.in_steps(*data)
    rounding, numbers = Rounding.of(scale, centre), Numbers(1500)
    many, decided = settled(mechanism.distribution, rounding, numbers)
    exact = [max(-LARGEST, min(LARGEST, rounding.one(mechanism.distribution, numbers.again(i)))) for i in range(1500)]
    for found, other, sure in zip(many.tolist(), exact, decided.tolist(), strict=True):
        # What 64 bits leave open was settled by the same code, with more bits, fresh each time.
        assert found == other or (not sure and abs(found - other) <= 1 + (abs(other) >> 40))
    assert decided.mean() > 0.8
    assert len(set(many.tolist())) > (1400 if data[1] > 1e-3 else 0)


def test_a_formula_that_is_off_is_noticed():
    """Planted bug: intervals around another function than the law's."""

    class Off(SmoothCauchy(epsilon=1).distribution.__class__):
        def draw(self, source):
            real = super().draw(source)
            wrong = isinstance(source, Numbers)
            return type(real)(real.uniforms, lambda u: real.evaluate(u) * (1 + 1e-9) if wrong else real.evaluate(u))

    numbers, rounding = Numbers(500), Rounding.of(Fraction(1 << 30), Fraction(0))
    many, _ = settled(Off(), rounding, numbers)
    assert many.tolist() != [rounding.one(Off(), numbers.again(i)) for i in range(500)]


GAMMAS = ["1.01", "1.5", "2", "3", "4", "7.25", "100"]


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("data", [(0, 1), (Fraction(1, 3), 7), (Fraction(-5, 2), Fraction(1, 2**38))])
def test_noise_that_is_rejected_is_that_of_the_exact_arithmetic(gamma, data):
    """From the same random bits, output by output, however many rounds it takes."""
    law = GeneralisedCauchy(Fraction(gamma))
    centre, scale = SmoothCauchy(epsilon=1, gamma=4).in_steps(*data)
    rounding, rounds = Rounding.of(scale, centre), Rounds(1500)
    many, decided = settled_by_rounds(law, rounding, rounds)
    exact = [max(-LARGEST, min(LARGEST, rounding.one(law, rounds.again(i)))) for i in range(1500)]
    for found, other, sure in zip(many.tolist(), exact, decided.tolist(), strict=True):
        # What 64 bits leave open was settled by the same code, with more bits, fresh each time.
        assert found == other or (not sure and abs(found - other) <= 1 + (abs(other) >> 20))
    usual = 2 <= law.gamma < 10  # nearer to 1 most outputs are too large for floats, beyond 10 hardly any is rejected
    assert decided.mean() > (0.8 if usual else 0.02)
    assert len(rounds.handed) > usual
    assert len(set(many.tolist())) > (0 if data[1] < 1e-3 else 700 if usual else 20)


def test_rounds_left_open_go_on_with_fresh_numbers():
    """Of a place that intervals gave up on in its first round, later rounds were never handed out."""
    law, rounding, rounds = GeneralisedCauchy(Fraction(4)), Rounding.of(Fraction(1 << 30), Fraction(0)), Rounds(2)
    refused = np.array([[0], [(1 << 64) - 1], [(1 << 64) - 1]], np.uint64)  # by its coin, at the far end of [0, 1)
    rounds.handed.append((np.array([1]), refused))
    assert len({rounding.one(law, rounds.again(1)) for _ in range(20)}) > 15


@pytest.mark.parametrize("gamma", ["1.5", "4"])
def test_many_draws_of_noise_that_is_rejected_have_the_exact_law(gamma):
    """In cells of a scale of three steps; the law of another gamma is told apart."""
    scale, centre, reach = Fraction(3), Fraction(1, 3), 20
    drawn = np.clip(rejected_draws(GeneralisedCauchy(Fraction(gamma)), scale, centre, 200_000), -reach, reach)
    seen = np.bincount(drawn + reach, minlength=2 * reach + 1)

    def p_value(power):
        law, most = GeneralisedCauchy(power), Fraction(2 * reach - 1, 2)
        below, above = (law.above((most + side * centre) / scale) for side in (1, -1))
        inner = [float(bounds(lambda k=k: mass(law, k, scale, centre))[0]) for k in range(1 - reach, reach)]
        meant = np.array([float(below), *inner, float(above)])
        assert abs(meant.sum() - 1) < 1e-9
        return float(stats.chisquare(seen, seen.sum() * meant / meant.sum()).pvalue)

    assert p_value(Fraction(gamma)) > FALSE_ALARM
    assert p_value(Fraction(gamma) * Fraction(21, 20)) < FALSE_ALARM


@pytest.mark.parametrize("off", [Fraction(1, 10**6), Fraction(-1, 10**6)])
def test_rounds_of_another_law_are_noticed(off):
    """Planted bug: the quick rounds decide by a gamma that is a millionth off."""
    rounding, rounds = Rounding.of(Fraction(1 << 30), Fraction(0)), Rounds(500)
    many, _ = settled_by_rounds(GeneralisedCauchy(4 + off), rounding, rounds)
    law = GeneralisedCauchy(Fraction(4))
    assert many.tolist() != [rounding.one(law, rounds.again(i)) for i in range(500)]


@pytest.mark.parametrize("power", [Fraction(1), Fraction(4), Fraction(-1, 3), Fraction(-2), Fraction(100, 99)])
def test_powers_contain_what_balls_say(power):
    from flint import arb, fmpq

    points = np.concatenate([np.random.default_rng().random(1500), 2.0 ** -np.arange(1.0, 53.0)])
    exponent = arb(fmpq(power.numerator, power.denominator))
    found = Intervals(points, points) ** exponent
    for low, point, high in zip(found.low, points, found.high, strict=True):
        assert arb(float(low)) <= arb(float(point)) ** exponent <= arb(float(high))
    assert float(((found.high - found.low) / found.high).max()) < 2.0**-36


def test_intervals_are_compared_with_certainty_only():
    around = Intervals(np.array([0.2, 0.4, 0.6, np.nan]), np.array([0.3, 0.6, 0.7, np.nan]))
    assert around.below(0.5).tolist() == [True, False, False, False]
    assert around.not_below(0.5).tolist() == [False, False, True, False]
    one = Intervals.chosen(np.array([True, False]), 1, around.low[0])
    assert (one.low.tolist(), one.high.tolist()) == ([1, 0.2], [1, 0.2])


@pytest.mark.parametrize("name", ["log", "exp", "expm1", "sqrt", "tan_pi", "cos_pi"])
def test_intervals_contain_what_balls_say(name):
    from flint import arb

    generator = np.random.default_rng()
    top = {"exp": 30, "expm1": 30, "tan_pi": 0.5, "cos_pi": 2}.get(name, 1)
    points = np.concatenate([generator.random(2000) * top, top * (1 - 2.0 ** -generator.integers(1, 45, 500))])
    found = getattr(Intervals(points, points), name)()
    for low, point, high in zip(found.low, points, found.high, strict=True):
        exact = getattr(arb(float(point)), name)()
        assert arb(float(low)) <= exact <= arb(float(high)) or np.isnan(low)
    assert np.isnan(found.low).sum() < 20


def test_intervals_know_nothing_about_a_quotient_by_zero():
    one, around = Intervals(np.ones(1), np.ones(1)), Intervals(-np.ones(1), np.ones(1))
    assert np.isnan((one / around).low).all()
    assert (one / 4).low[0] < 0.25 < (one / 4).high[0]


@pytest.mark.parametrize("records", [[], [5, 5, 6], [59, 59]])
def test_many_quantiles_are_what_releases_give(records):
    mechanism = Quantile(epsilon=1, q="0.5", lower=0, upper=60)
    many = Counter(releases(mechanism)(records, 50_000).tolist())
    law = mechanism.probabilities(records)
    seen = [many[code] for code in range(61)]
    assert float(stats.chisquare(seen, 50_000 * np.array(law) / np.sum(law)).pvalue) > FALSE_ALARM
