"""Every path of the table sampler, with words of 8 bits: the probabilities are exactly those of the law."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.noise.integers.discrete_gaussian_tail import DiscreteGaussianDistribution
from dither.noise.integers.gaussian import RoundedGaussianDistribution
from dither.noise.integers.geometric_tail import GeometricDistribution
from dither.noise.integers.laplace import LaplaceDistribution
from dither.noise.integers.standard_reals import HalfNormalCells
from dither.noise.integers.table import UNDECIDED, build_table, draw_from_table, fill_from_table

WIDTH, GUIDE, DEPTH = 8, 4, 7

DISTRIBUTIONS = [
    LaplaceDistribution(Fraction(1, 1000)),
    LaplaceDistribution(Fraction(1)),
    LaplaceDistribution(Fraction(7, 2)),
    GeometricDistribution(Fraction(1, 3)),
    GeometricDistribution(Fraction(5)),
    RoundedGaussianDistribution(Fraction(1, 1000)),
    RoundedGaussianDistribution(Fraction(1, 2)),
    RoundedGaussianDistribution(Fraction(4)),
    DiscreteGaussianDistribution(Fraction(1, 10**6)),
    DiscreteGaussianDistribution(Fraction(1, 3)),
    DiscreteGaussianDistribution(Fraction(20)),
    HalfNormalCells(Fraction(1, 8)),
]


def below(law, k, certified):
    """P[X <= k] as an interval of Fractions, for any integer k."""
    if k >= 0:
        low, high = certified(lambda: law.tail(k))
        return 1 - high, 1 - low
    return certified(lambda: law.tail(-k - 1)) if law.symmetric else (Fraction(0), Fraction(0))


def paths(table, script, bit_leaves):
    """Every path of one draw: its value (None if DEPTH more bits were not enough) and the interval of U it covers."""
    for top in range(1 << GUIDE):
        for low in range(1 << (WIDTH - GUIDE)):
            word = (top << (WIDTH - GUIDE)) | low

            def run(bits, top=top, low=low):
                out = np.zeros(1, np.int64)
                source = script([top << (16 - GUIDE), low << (16 - (WIDTH - GUIDE))], bits)
                fill_from_table(table, out, source.fill, source.learn)
                return int(out[0])

            for bits, value in bit_leaves(run, DEPTH):
                prefix = int("".join(map(str, bits)) or "0", 2)
                size = Fraction(1, 1 << (WIDTH + len(bits)))
                start = Fraction(word, 1 << WIDTH) + prefix * size
                yield value, start, size


def worst_gap(table, law, script, bit_leaves, certified):
    """Checks that probabilities add up, and returns by how much they can miss the law's."""
    mass: dict[int | None, Fraction] = defaultdict(Fraction)
    for value, _, size in paths(table, script, bit_leaves):
        mass[value] += size
    assert sum(mass.values()) == 1
    unresolved = mass.pop(None, Fraction(0))
    gap = Fraction(0)
    for k, probability in mass.items():
        low = below(law, k, certified)[0] - below(law, k - 1, certified)[1]
        high = below(law, k, certified)[1] - below(law, k - 1, certified)[0]
        gap = max(gap, probability - high, low - probability - unresolved)
    return gap, unresolved


@pytest.mark.parametrize("law", DISTRIBUTIONS, ids=str)
def test_every_path_of_8_bit_words_has_exactly_the_probability_of_the_law(law, script, bit_leaves, certified):
    table = build_table(law, WIDTH, GUIDE)
    gap, unresolved = worst_gap(table, law, script, bit_leaves, certified)
    assert gap <= 0
    # What is not resolved is the last bits of boundary words, two at most for each.
    assert unresolved <= 2 * len(set(table.boundaries.tolist())) * Fraction(1, 1 << (WIDTH + DEPTH - 1))


@pytest.mark.parametrize("law", DISTRIBUTIONS, ids=str)
def test_every_word_lies_within_the_interval_of_its_value(law, certified):
    table = build_table(law, WIDTH, GUIDE)
    for top in np.flatnonzero(table.direct != UNDECIDED):
        k = int(table.direct[top])
        assert below(law, k - 1, certified)[1] <= Fraction(int(top), 1 << GUIDE)
        assert Fraction(int(top) + 1, 1 << GUIDE) <= below(law, k, certified)[0]


@pytest.mark.parametrize(
    ("drawn", "claimed"),
    [
        (LaplaceDistribution(Fraction(7, 2)), LaplaceDistribution(Fraction(71, 20))),
        (RoundedGaussianDistribution(Fraction(4)), RoundedGaussianDistribution(Fraction(404, 100))),
        (RoundedGaussianDistribution(Fraction(4)), DiscreteGaussianDistribution(Fraction(16))),
    ],
    ids=str,
)
def test_the_enumeration_notices_a_law_that_is_slightly_off(drawn, claimed, script, bit_leaves, certified):
    gap, _ = worst_gap(build_table(drawn, WIDTH, GUIDE), claimed, script, bit_leaves, certified)
    assert gap > 0


def test_the_enumeration_notices_ties_that_are_not_broken(script, bit_leaves, certified):
    law = LaplaceDistribution(Fraction(7, 2))
    table = build_table(law, WIDTH, GUIDE)
    # Planted bug: boundary words given away whole, as if they ended where the next value begins.
    careless = replace(table, boundaries=np.minimum(table.boundaries + 1, 255).astype(np.uint32))
    gap, _ = worst_gap(careless, law, script, bit_leaves, certified)
    assert gap > 0


def test_low_bits_settle_words_with_no_one_and_many_boundaries(script, certified):
    law = GeometricDistribution(Fraction(5))
    table = build_table(law, 16, 4)
    for low in range(1 << 12):
        word = (15 << 12) | low
        if word in table.boundaries:
            continue
        source = script([low << 4])
        k = int(table.finish(np.array([15], np.uint16), source.fill, source.learn)[0])
        assert below(law, k - 1, certified)[1] <= Fraction(word, 1 << 16)
        assert Fraction(word + 1, 1 << 16) <= below(law, k, certified)[0]


def test_production_boundaries_are_certified(certified):
    law = LaplaceDistribution(Fraction(100))
    table = build_table(law)
    for i in range(0, table.boundaries.size, 97):
        low, high = below(law, table.first_value + i, certified)
        word = int(table.boundaries[i])
        assert Fraction(word, 1 << 32) <= low
        assert high <= Fraction(word + 1, 1 << 32)


def test_a_boundary_too_close_for_the_usual_precision_is_computed_with_more(certified):
    @dataclass(frozen=True)
    class Close:
        """P[X > 0] lies 2**-200 above 1/4."""

        symmetric: bool = False

        def tail(self, k):
            from dither.exact.balls import ball

            return ball(Fraction(1, 4)) + ball(Fraction(1, 1 << 200)) if k == 0 else ball(Fraction(1, 1 << 300))

    assert build_table(Close(), WIDTH, GUIDE).boundaries.tolist() == [191, 255]


def test_a_law_too_wide_for_a_table_is_refused():
    with pytest.raises(ParameterError, match="a table holds fewer"):
        build_table(GeometricDistribution(Fraction(6000)), 8, 4)


def test_many_draws_cross_chunks_and_batches():
    draws = draw_from_table(build_table(LaplaceDistribution(Fraction(2))), (1 << 20) + 40_000)
    assert draws.dtype == np.int64
    assert abs(draws.mean()) < 0.05
    assert UNDECIDED not in draws
