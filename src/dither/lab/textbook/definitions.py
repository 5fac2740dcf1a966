"""Definitions: who is protected, from what, and what small examples say about it."""

from __future__ import annotations

from dither.lab.textbook.lesson import Lesson

LESSONS = (
    Lesson(
        "Neighbouring databases",
        "Two databases that differ in one person. Either the person comes or goes (`add_remove`, also called "
        "unbounded), or one record is replaced and the size is public (`replace`, bounded). Every guarantee says "
        "which one it is about, and two that differ are never added up. A replacement is a removal and an addition,"
        " so it costs twice.",
        """
>>> import dither as dt
>>> dt.PureDP(1).relation.value, dt.PureDP(1, "replace").relation.value
('add_remove', 'replace')
>>> dt.accounting.replace_from_add_remove(dt.PureDP(1)).epsilon
Fraction(2, 1)
>>> dt.accounting.group(dt.PureDP("0.1"), 3).epsilon  # three people together
Fraction(3, 10)
""",
        also=(
            "adjacent",
            "bounded and unbounded differential privacy",
            "group privacy",
        ),
        notes="Many proofs say *one row differs* and then remove a row. Where the two are mixed, a factor of 2 is "
        "lost: a histogram moves by 1 in L1 under `add_remove`, by 2 under `replace`.",
        exhibit="add/remove noise under replace",
    ),
    Lesson(
        "Differencing attack",
        "Two exact counts, of all patients and of all but one, differ by that patient's secret: 3 - 2 = 1. Noise of"
        " a few units on each makes the difference meaningless, and asking often enough to average it away is what "
        "composition charges for.",
        """
>>> import dither as dt
>>> smokers = ["Ann", "Bob", "Cem"]
>>> len(smokers) - len([name for name in smokers if name != "Cem"])  # so Cem smokes
1
>>> noise = dt.Laplace(epsilon="0.5", sensitivity=1)
>>> noise.error("0.95")  # each of two noisy counts may be off by so much
Fraction(6, 1)
>>> dt.compose([noise, noise]).epsilon
Fraction(1, 1)
""",
        also=("tracker attack",),
    ),
    Lesson(
        "Differential privacy",
        "For all neighbours and all sets E of outputs, P[M(D) in E] ≤ e^ε P[M(D′) in E] + δ. With δ = 0 it is pure "
        "and may be checked point by point; with δ > 0 only over sets. The δ at each ε is the hockey-stick "
        "divergence.",
        """
>>> import dither as dt
>>> truth, lie = ["3/4", "1/4"], ["1/4", "3/4"]  # a coin decides whether the answer is turned round
>>> round(dt.divergence.max(truth, lie).upper, 4)  # ln 3
1.0986
>>> round(dt.PureDP("1.0986").delta_at("0.5"), 4)  # the same mechanism at a smaller epsilon
0.3378
""",
        also=(
            "epsilon",
            "delta",
            "pure and approximate differential privacy",
            "privacy loss",
        ),
        notes="*δ is the probability that privacy fails* is not what the definition says: Gaussian noise that is "
        "(1, 1e-6)-DP has a loss above 1 with probability 2e-5. And e^ε ≈ 1 + ε is for small ε only: at ε = 1"
        " it is 2.718.",
        exhibit="delta read off single outcomes",
    ),
    Lesson(
        "Randomised response",
        "Say the truth with probability e^ε/(1 + e^ε), else the opposite. Each respondent is private by themselves,"
        " and the share of all is found from the answers.",
        """
>>> import dither as dt
>>> shy = dt.RandomizedResponse(epsilon=1, values=["no", "yes"])
>>> round(shy.guarantee.delta_at(0), 4)  # how far apart the two answers' distributions are
0.4621
>>> found = shy.estimate(shy.release(["yes"] * 300 + ["no"] * 700).value)
>>> found.values, found.reports
(('no', 'yes'), 1000)
""",
        also=("local differential privacy",),
        exhibit="truth or a coin",
    ),
    Lesson(
        "Name-and-shame",
        "Publish each record in clear with probability δ. Under `replace` this is exactly (0, δ)-DP, and on n "
        "records about n δ of them are exposed. So δ must be far below 1/n.",
        """
>>> from dither.lab.museum.name_and_shame import NameAndShame
>>> shame = NameAndShame(delta="0.001")
>>> shame.guarantee
ApproxDP(epsilon=0, delta=0.001, relation='replace')
>>> shame.expected(1000), round(shame.any_exposed(1000), 4)
(Fraction(1, 1), 0.6323)
""",
        notes="Under `add_remove` it is not private at all: the length of the output is the number of records.",
    ),
    Lesson(
        "Post-processing",
        "What is computed from a private answer alone is as private. Rounding, clamping, sorting, and one over a "
        "noisy count cost nothing.",
        """
>>> import dither as dt
>>> count = dt.stats.count([True] * 1000, epsilon=1)
>>> share = dt.stats.reciprocal([True] * 1000, at_least=10, epsilon=1)
>>> share.guarantee == count.guarantee
True
""",
        notes="Choosing *which* function to apply by looking at the data again is no post-processing.",
    ),
)
