"""The scan and its certified rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.sensitivity import median, order_statistic, quantile
from dither.sensitivity.smoothing import FLOOR_BITS, certify, farthest, scan, smoothness


def test_the_scan_equals_the_full_maximum_and_stops_early():
    rng = np.random.default_rng(7)
    for _ in range(200):
        reaches = np.sort(rng.integers(0, 1000, 60)).tolist()
        reaches[-1] = 1000
        beta, read = Fraction(int(rng.integers(1, 200)), 100), []

        def reach(k, reaches=reaches, read=read):
            read.append(k)
            return Fraction(reaches[min(k, 59)])

        full = certify([(k, Fraction(a)) for k, a in enumerate(reaches)], beta, Fraction(1000))
        assert scan(reach, beta, Fraction(1000), 59) == full
        needed = math.log(1000 / float(full)) / float(beta)
        assert len(read) <= needed + 2


def test_the_bound_is_certified_from_both_sides():
    for beta in (Fraction(1, 10**12), Fraction(1, 7), Fraction(3), Fraction(40)):
        found = certify([(3, Fraction(2))], beta, Fraction(10))
        plain = 2 * math.exp(-3 * float(beta))
        assert plain * (1 - 1e-14) <= found <= plain * (1 + 1e-14)
    # Rounded up, and by less than the smoothness that was held back pays for.
    exact = certify([(0, Fraction(1, 3))], Fraction(1, 10), Fraction(1))
    assert Fraction(1, 3) < exact < Fraction(1, 3) * (1 + Fraction(1, 2**80))


def test_the_ceiling_and_the_floor_are_public_constants():
    assert certify([(0, Fraction(1, 3))], Fraction(1), Fraction(1, 3)) == Fraction(1, 3)
    assert certify([(10**6, Fraction(1))], Fraction(1), Fraction(1)) == Fraction(1, 2**FLOOR_BITS)
    assert certify([], Fraction(1), Fraction(6)) == Fraction(6, 2**FLOOR_BITS)
    assert math.exp(-float(Fraction(1, 7)) * farthest(Fraction(1, 7), 10**9)) < 2.0**-FLOOR_BITS
    all_equal = median.smooth(np.zeros(100_001), 1, -1, 1)
    assert all_equal == Fraction(2, 2**FLOOR_BITS)


def test_beta_must_be_positive():
    assert smoothness("0.1") == Fraction(1, 10)
    for wrong in (0, -1, "nan", math.inf, True):
        with pytest.raises(ValueError, match="beta"):
            smoothness(wrong)


def plain_smooth(ordered, rank, lower, upper, beta):
    """The double loop over all pairs i <= rank <= j, in floats."""
    padded = np.concatenate([[lower], np.clip(ordered, lower, upper), [upper]])
    i, j = np.arange(rank + 1)[:, None], np.arange(rank, len(padded))[None, :]
    worth = (padded[j] - padded[i]) * np.exp(-beta * np.maximum(j - i - 1, 0))
    return worth[j > i].max()


@pytest.mark.parametrize("kind", ["int64", "uint8", "float64", "float32", "big-endian"])
def test_arrays_of_every_kind_equal_the_double_loop(kind):
    rng = np.random.default_rng(11)
    dtype = np.dtype(">i4") if kind == "big-endian" else np.dtype(kind)
    for n in (1, 2, 10, 301):
        x = (rng.lognormal(3, 1, n)).astype(dtype)
        before = x.copy()
        for beta in ("0.01", "0.2", 2):
            for statistic in (median, order_statistic(1), order_statistic(n), quantile("0.9")):
                found = statistic.smooth(x, beta, 2, 100)
                plain = plain_smooth(np.sort(x).astype(float), statistic.rank(n), 2, 100, float(beta))
                assert float(found) == pytest.approx(plain, rel=1e-12)
                assert found == statistic.smooth(x.tolist(), beta, 2, 100)
        assert (x == before).all(), "the caller's column is left as it was"


def test_the_window_grows_until_nothing_outside_can_win():
    """Far apart values beyond the first window: 20,000 equal records around the median hide everything else."""
    x = np.concatenate([np.zeros(10_000), np.ones(1), np.full(10_000, 5.0)])
    for beta in ("0.003", "0.0003"):
        found = median.smooth(x, beta, -(10**6), 10**6)
        assert float(found) == pytest.approx(plain_pairs(x, float(beta)), rel=1e-12)


def plain_pairs(x, beta):
    """The best pair by distance: u_p + v_q over p + q = k + 1 takes few different values here."""
    n, r, lower, upper = len(x), (len(x) + 1) // 2, -1e6, 1e6
    rise = {0: 0.0, 1: x[r] - x[r - 1], n + 1 - r: upper - x[r - 1]}
    fall = {0: 0.0, 1: x[r - 1] - x[r - 2], r: x[r - 1] - lower}
    return max((u + v) * math.exp(-beta * (p + q - 1)) for p, u in rise.items() for q, v in fall.items() if p + q)


def test_values_that_floats_cannot_tell_apart():
    """2^60 + 1 and 2^60 are one double; whole numbers and fractions stay exact."""
    x = np.array([2**60, 2**60 + 1, 2**60 + 3])
    assert median.local(x, 0, 2**61) == 2
    assert median.reach(x, 1, 0, 2**61) == 2**60 + 1
    assert median.local([Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**40), 1], 0, 1) > Fraction(2, 3) - Fraction(
        1, 9
    )
