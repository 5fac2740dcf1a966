"""Draws one by one, by ball arithmetic: every path of 8-bit numbers has exactly the probability of the law."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import pytest

from dither.noise.balls import LazyUniform, ball, fresh_uniform, outward, precision, whole_part
from dither.noise.gaussian import RoundedGaussianLaw, gaussian_by_balls
from dither.noise.geometric import geometric_by_balls
from dither.noise.geometric_law import GeometricLaw
from dither.noise.laplace import LaplaceLaw, laplace_affine, laplace_by_balls, laplace_shift
from dither.noise.law import locate

DRAWS = [
    (geometric_by_balls, GeometricLaw),
    (laplace_by_balls, LaplaceLaw),
    (gaussian_by_balls, RoundedGaussianLaw),
]


@pytest.mark.parametrize(("draw", "law_of"), DRAWS)
@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1, 2), Fraction(3)])
def test_every_path_has_exactly_the_probability_of_the_law(draw, law_of, scale, script, bit_leaves, certified):
    law = law_of(scale)
    mass: dict[int | None, Fraction] = defaultdict(Fraction)
    for word in range(256):

        def run(bits, word=word):
            return draw(scale, LazyUniform(word, 8, script(bits=bits).learn))

        for bits, value in bit_leaves(run, 8):
            mass[value] += Fraction(1, 256 << len(bits))
    assert sum(mass.values()) == 1
    unresolved = mass.pop(None)
    assert unresolved < Fraction(1, 200)

    def tail(k):
        return certified(lambda: law.tail(k)) if k >= 0 else (Fraction(1), Fraction(1))

    for k, probability in mass.items():
        size = abs(k)
        if law.symmetric and k == 0:
            bounds = [1 - 2 * end for end in reversed(tail(0))]
        else:
            bounds = [tail(size - 1)[0] - tail(size)[1], tail(size - 1)[1] - tail(size)[0]]
        assert probability <= bounds[1]
        assert bounds[0] <= probability + unresolved


@pytest.mark.parametrize(
    "law", [LaplaceLaw(Fraction(50)), GeometricLaw(Fraction(50)), RoundedGaussianLaw(Fraction(50))]
)
def test_locating_a_number_in_a_law_agrees_with_its_tail(law, certified):
    for _ in range(100):
        uniform = fresh_uniform(64)
        low, high = uniform.ends()
        k = locate(law, uniform)

        def below(k):
            if k >= 0:
                return 1 - certified(lambda: law.tail(k))[0]
            return certified(lambda: law.tail(-k - 1))[1] if law.symmetric else Fraction(0)

        assert below(k - 1) <= high
        assert low <= below(k)


def test_a_number_of_which_nothing_is_known_cannot_be_located():
    with pytest.raises(ValueError, match="negative shift count"):
        locate(LaplaceLaw(Fraction(1)), LazyUniform())


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1), Fraction(1 << 60)])
def test_the_shift_of_the_laplace_law_keeps_its_digits(scale):
    low, high = laplace_affine(scale).offset(400)
    assert high - low <= 3
    assert 0 < low < high <= 1 << 399
    with precision(600):
        shift = laplace_shift(scale)
        assert shift > ball(Fraction(low - 1, 1 << 400))
        assert shift < ball(Fraction(high + 1, 1 << 400))
        # (1 + q)/2 = exp(-c/scale)
        q = (-1 / ball(scale)).exp()
        assert ((1 + q) / 2).overlaps((-shift / ball(scale)).exp())


def test_whole_parts_are_given_only_where_they_are_certain():
    with precision(64):
        third = ball(Fraction(1, 3))
        assert whole_part(third) == 0
        assert whole_part(third * 3) is None
        assert outward(third * 3) == (0, 2)
        assert outward(ball(5)) == (5, 5)
