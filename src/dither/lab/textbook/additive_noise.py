"""Laplace and Gaussian noise, and how far they may be off."""

from __future__ import annotations

from dither.lab.textbook.lesson import Lesson

LESSONS = (
    Lesson(
        "Global sensitivity",
        "The most that one record can move a statistic, whatever the data are: a property of the statistic, of the "
        "relation and of the declared range.",
        """
>>> import dither as dt
>>> s = dt.sensitivity
>>> s.histogram().l1, s.histogram("replace").l1
(Fraction(1, 1), Fraction(2, 1))
>>> s.sum(10_000, 100_000).l1, s.sum(10_000, 100_000, "replace").l1  # salaries
(Fraction(100000, 1), Fraction(90000, 1))
>>> s.median(0, 120).l1  # the range, however many rows there are
Fraction(120, 1)
""",
        also=("L1 and L2 sensitivity",),
        notes="Often printed: 90,000 for the salaries under `add_remove` (it is 100,000), 2 for a histogram where 1"
        " is meant, and *n* for the median, whose sensitivity is the range.",
        exhibit="the median's sensitivity taken for n",
    ),
    Lesson(
        "Laplace mechanism",
        "Noise of scale b = Δ/ε, Δ the L1 sensitivity of the *whole* vector, is ε-DP. Here the noise is discrete "
        "and exact; `scale=` describes noise that others chose.",
        """
>>> import dither as dt
>>> dt.Laplace(epsilon="0.1", sensitivity=1).scale
Fraction(10, 1)
>>> dt.Laplace(scale=2, sensitivity=1).guarantee
PureDP(epsilon=0.5)
>>> round(float(dt.Laplace(epsilon=1, sensitivity=1).guarantee.zcdp().rho), 4)  # of this discrete noise
0.4621
""",
        notes="For continuous noise rho = ε + e^-ε - 1 = 0.3679 at ε = 1; for noise on whole numbers it is larger, "
        "0.4621. A fixed offset of 0.5 hides nothing: 100 and 101 stay apart.",
        exhibit="rho of another noise",
    ),
    Lesson(
        "Accuracy of Laplace noise",
        "One answer is off by more than (Δ/ε) ln(1/β) with probability β, exactly; of k answers the largest error "
        "exceeds (Δ/ε) ln(k/β) with probability at most β. It does not depend on the number of records.",
        """
>>> import dither as dt
>>> dt.Laplace(epsilon="0.1", sensitivity=1).error("0.99")  # 10 ln 100 = 46.05
Fraction(46, 1)
>>> names = dt.Laplace(epsilon=1, sensitivity=1)
>>> names.error("0.95", count=10_000)  # ln(10,000 / 0.05) = 12.2
Fraction(12, 1)
>>> round(names.expected_error(), 3)
0.851
""",
        also=(
            "accuracy corollary",
            "alpha and beta",
        ),
        notes="The printed tail is a strict <; it is an equality. And 12.2 bounds the largest of 10,000 noises; a "
        "single one exceeds it with probability 5e-6.",
    ),
    Lesson(
        "Gaussian mechanism",
        "Noise with σ = Δ₂ √(2 ln(2/δ))/ε is (ε, δ)-DP for ε ≤ 1 (the lecture notes); √(2 ln(1.25/δ))/ε as well "
        "(the textbook's appendix). The smallest σ follows from the exact curve, for any ε.",
        """
>>> import dither as dt
>>> price = {"epsilon": 1, "delta": "1e-6", "sensitivity": 1}
>>> round(float(dt.Gaussian(calibration="textbook", **price).scale), 4)  # sqrt(2 ln(2/delta))
5.3868
>>> round(float(dt.Gaussian(calibration="classical", **price).scale), 4)  # sqrt(2 ln(1.25/delta))
5.2988
>>> round(float(dt.Gaussian(**price).scale), 4)
4.2247
>>> round(dt.Gaussian(calibration="textbook", **price).guarantee.delta_at(1) / 1e-6, 4)  # of delta used
0.0019
""",
        also=(
            "classical Gaussian",
            "analytic Gaussian",
        ),
        notes="Both formulas are loose where they hold and false where they are extrapolated: at ε = 20, δ = 1e-5 "
        "the first one has a true δ of 9.7e-4. They are refused for ε > 1.",
        exhibit="the textbook's sigma at a large epsilon",
    ),
    Lesson(
        "Good and bad sets",
        "The classical proof splits the outputs: on the good set the ratio of densities is at most e^ε, and the bad"
        " set has probability at most δ. That is enough for (ε, δ)-DP, and more than is needed.",
        """
>>> from math import erfc, log, sqrt
>>> far = sqrt(log(2 / 1e-6))  # the printed border of the bad set, in standard deviations
>>> round(erfc(far / sqrt(2)), 6)  # its probability, where 1e-6 is claimed
0.00014
>>> import dither as dt
>>> noise = dt.Gaussian(epsilon=1, delta="1e-6", sensitivity=1)
>>> border = float(noise.scale) ** 2 - 1 / 2  # where the ratio of the densities is e
>>> round(erfc(border / float(noise.scale) / sqrt(2)) / 2, 6)  # P[loss > 1], twenty times delta
2e-05
""",
        notes="The printed bad set |y| > √2 Δ ln(2/δ)/ε lies only √ln(2/δ) standard deviations out; the border that"
        " the proof needs is 2 Δ ln(2/δ)/ε - Δ/2. The theorem itself is true.",
    ),
    Lesson(
        "Laplace or Gaussian",
        "For k counts at once Laplace noise grows with k, Gaussian noise with √k. The answers of many questions are"
        " within √(k ln k ln(1/δ))/ε.",
        """
>>> import dither as dt
>>> counts = dt.sensitivity.counts(400)  # one person may be in all of them
>>> laplace = dt.Laplace(epsilon=1, sensitivity=counts)
>>> gaussian = dt.Gaussian(epsilon=1, delta="1e-6", sensitivity=counts)
>>> float(laplace.scale), round(float(gaussian.scale), 1)
(400.0, 84.5)
""",
        notes="Printed are √k log k log(1/δ) and √(k log k) log(1/δ); and Laplace noise as (ε, δ)-DP, which is (ε, 0).",
    ),
)
