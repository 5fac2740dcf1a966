"""Distances between distributions, and the lemmas between them."""

from __future__ import annotations

from dither.lab.textbook.lesson import Lesson

LESSONS = (
    Lesson(
        "KL divergence",
        "The expected privacy loss, E_P[ln p/q].",
        """
>>> import dither as dt
>>> round(dt.divergence.kl(["3/4", "1/4"], ["1/4", "3/4"]).upper, 6)  # (ln 3)/2
0.549306
""",
        also=(
            "Kullback-Leibler",
            "relative entropy",
        ),
    ),
    Lesson(
        "Max divergence",
        "The largest ln P(E)/Q(E); pure ε-DP bounds it in both directions by ε.",
        """
>>> import dither as dt
>>> round(dt.divergence.max(["3/4", "1/4"], ["1/4", "3/4"]).upper, 6)
1.098612
>>> noisy = [dt.divergence.distribution(dt.Laplace(epsilon=1, sensitivity=1), n, lower=-30, upper=31) for n in (0, 1)]
>>> round(dt.divergence.max(*noisy).upper, 6)
1.0
""",
        also=("D infinity",),
    ),
    Lesson(
        "Approximate max divergence",
        "The largest ln((P(E) - δ)/Q(E)) over all *sets* with P(E) > δ. It is at most ε exactly if some P′ within "
        "statistical distance δ of P has max divergence at most ε from Q; `witness=True` gives the set and that P′.",
        """
>>> import dither as dt
>>> p, q = ["0.1"] * 10 + [0], ["0.01"] * 10 + ["0.9"]
>>> found = dt.divergence.approximate_max(p, q, "0.1", witness=True)
>>> round(found.value.upper, 6), len(found.outcomes)  # ln 9, by ten outcomes together
(2.197225, 10)
>>> found.modified[0], found.modified[10]
(Fraction(9, 100), Fraction(1, 10))
""",
        also=("delta-approximate max divergence",),
        notes="Printed as a maximum over points: here no single outcome has more than δ, and the maximum would be "
        "empty. The two-sided lemma needs *both* max divergences of (P′, Q′), each within δ/(e^ε + 1).",
        exhibit="delta read off single outcomes",
    ),
    Lesson(
        "Statistical distance",
        "Half the L1 distance, the largest P(E) - Q(E), and the δ at ε = 0.",
        """
>>> import dither as dt
>>> dt.divergence.total_variation(["3/4", "1/4"], ["1/4", "3/4"])
Bounds(lower=0.5, upper=0.5)
>>> dt.divergence.hockey_stick(["3/4", "1/4"], ["1/4", "3/4"], 0)
Bounds(lower=0.5, upper=0.5)
""",
        also=("total variation distance",),
    ),
    Lesson(
        "From max divergences to KL",
        "If ln p/q lies between -b and a, then KL ≤ (a(e^b - 1) - b(1 - e^-a))/(e^b - e^-a), attained by two "
        "outcomes. For a = b = ε it is ε tanh(ε/2).",
        """
>>> import dither as dt
>>> round(dt.divergence.largest_kl(1, 1).upper, 6)
0.462117
>>> round(dt.divergence.largest_kl(1, 2).upper, 6)  # a = 1, b = 2
0.729908
""",
        notes="ε(e^ε - 1) is printed, 1.718 at ε = 1; ε²/2 is true as well.",
    ),
    Lesson(
        "Azuma's inequality",
        "Numbers of at most α in absolute value, each at most β in expectation given those before it: their sum "
        "exceeds kβ + zα√k with probability at most e^(-z²/2). With the losses of k mechanisms it is advanced "
        "composition.",
        """
>>> from math import tanh
>>> from dither import accounting
>>> round(accounting.azuma(largest="0.1", mean=0.1 * tanh(0.05), k=100, failure="1e-6"), 6)
5.756106
""",
        also=(
            "Azuma-Hoeffding",
            "martingale",
        ),
    ),
)
