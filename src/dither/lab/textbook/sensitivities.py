"""Local and smooth sensitivity, the noises that go with them, and statistics that need them."""

from __future__ import annotations

from dither.lab.textbook.lesson import Lesson

LESSONS = (
    Lesson(
        "Local sensitivity",
        "The most that one record can move the statistic of *these* data. Usually far below the global one, and "
        "itself a secret: noise in proportion to it is not private.",
        """
>>> import dither as dt
>>> median = dt.sensitivity.median
>>> ours, theirs = [0, 0, 0, 0, 0, 100, 100], [0, 0, 0, 0, 100, 100, 100]
>>> median.local(ours, 0, 100), median.local(theirs, 0, 100)  # neighbours with the same median
(Fraction(0, 1), Fraction(100, 1))
""",
        exhibit="local sensitivity as the scale",
    ),
    Lesson(
        "A^(k): sensitivity at distance k",
        "The largest local sensitivity within k changes. For the median of x₁ ≤ ... ≤ xₙ it is the maximum over t ="
        " 0, ..., k+1 of x_(m+t) - x_(m+t-k-1).",
        """
>>> import dither as dt
>>> [int(dt.sensitivity.median.reach(range(1, 10), k, 0, 10)) for k in range(4)]
[1, 2, 3, 4]
""",
        also=("reach",),
        notes="The case lists for k = 1 and k = 2 are printed with one case too few: t runs to k + 1, so three "
        "cases and four.",
        exhibit="smooth sensitivity with a case missing",
    ),
    Lesson(
        "Smooth sensitivity",
        "S*(D) = max over k of e^(-βk) A^(k)(D): the smallest bound that is at least the local sensitivity and "
        "changes by at most e^β between neighbours.",
        """
>>> import dither as dt
>>> round(float(dt.sensitivity.median.smooth(range(1, 10), "0.1", 0, 10)), 4)
4.0657
>>> from dither.sensitivity import brute_force
>>> def bound(x):
...     return dt.sensitivity.median.smooth(x, "0.3", 0, 6)
>>> brute_force.is_smooth(bound, lambda x: x[1], "0.3", (0, 1, 6), 3)  # by trying all neighbours
True
""",
        also=("beta-smooth upper bound",),
        notes="Smoothness compares S at neighbours, not S with the local sensitivity; and the maximum runs over "
        "*all* databases, not over neighbours. *No larger than the global sensitivity* is a property of S*, "
        "not part of the definition.",
        exhibit="a scan that stops early",
    ),
    Lesson(
        "Smooth noises",
        "Noise (S/s)·η is private if the distribution of η hardly changes when it is moved by s and stretched by "
        "e^β. Cauchy, Student's t and Lomax noise give ε-DP, Laplace and Gaussian noise (ε, δ)-DP, "
        "Laplace-log-normal noise zCDP.",
        """
>>> import dither as dt
>>> notes, exact = dt.SmoothCauchy(epsilon=1, calibration="textbook"), dt.SmoothCauchy(epsilon=1)
>>> [round(float(noise.divisor), 4) for noise in (notes, exact)]  # a larger divisor is less noise
[0.1667, 1.0422]
>>> [round(float(noise.beta), 4) for noise in (notes, exact)]  # and a larger beta a smaller S
[0.1667, 0.7353]
>>> dt.SmoothLaplaceLogNormal(rho="0.5", beta="0.1").guarantee
ZCDP(rho=0.5, relation='replace')
""",
        also=(
            "admissible noise",
            "Cauchy",
            "Student's t",
            "Lomax",
            "Laplace-log-normal",
            "sliding and dilation",
        ),
        notes="The Cauchy calibration of the notes spends 0.226 of an ε of 1. Smooth Laplace noise is stated for "
        "every ε; its proof gives δ(1 + e^(ε/2))/2, and from ε ≈ 12 on the statement is false. *α and β* are "
        "the shift and dilation allowed, γ is the distribution's own parameter.",
        exhibit="one of two bounds on a divisor",
    ),
    Lesson(
        "Reciprocal of a count",
        "1/f has infinite global and smooth sensitivity: a few removals lead to f = 0. Take one over a noisy count,"
        " or 1/max(f, c) with a public c.",
        """
>>> import dither as dt
>>> dt.sensitivity.reciprocal(at_least=10).l1  # 1/(10·11)
Fraction(1, 110)
>>> dt.stats.reciprocal([True] * 500, at_least=10, epsilon=1)
reciprocal 0.00..., epsilon 1
""",
        notes="Its local sensitivity is printed as O(1/f); it is 1/(f(f-1)).",
    ),
    Lesson(
        "Number of triangles",
        "Under `edge` privacy one edge closes up to n - 2 triangles. The local sensitivity is the largest number of"
        " common neighbours of any two vertices, and itself moves by 1.",
        """
>>> import dither as dt
>>> edges = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
>>> s = dt.sensitivity.triangles
>>> s(5).l1, s.value(edges, vertices=5), s.local(edges, vertices=5)
(Fraction(3, 1), 0, Fraction(3, 1))
>>> dt.graph.triangles(edges, vertices=100, epsilon=1, delta="1e-6").method
'bounded'
""",
        also=(
            "graph",
            "edge differential privacy",
        ),
        notes="Bounded by the largest degree, say the notes; the maximum is over all pairs, joined by an edge or not.",
        exhibit="triangles on existing edges only",
    ),
    Lesson(
        "Minimum spanning tree",
        "Weights in [0, L] are private, the edges public: the cost moves by at most L, and locally by what the next"
        " detour costs.",
        """
>>> import dither as dt
>>> roads = [("a", "b", 1), ("b", "c", 2), ("c", "d", 3), ("d", "a", 9)]
>>> s = dt.sensitivity.mst_cost
>>> s(10).l1, s.value(roads, 10), s.local(roads, 10)
(Fraction(10, 1), Fraction(6, 1), Fraction(8, 1))
>>> dt.graph.mst_cost(roads, epsilon=1, max_weight=10).guarantee
PureDP(epsilon=1, relation='edge_weight')
""",
        also=("MST",),
    ),
    Lesson(
        "Linear regression",
        "Noise is added once to the table of products of (1, x, y), clipped and scaled; the line, its intervals and"
        " the error of a prediction follow from it. One over XᵀX itself has infinite sensitivity.",
        """
>>> import dither as dt
>>> x = [i / 100 for i in range(1000)]
>>> line = dt.stats.linear_regression(x, [3 + 2 * v for v in x], x_bounds=(0, 10), y_bounds=(0, 30), epsilon=10**6)
>>> [round(number, 2) for number in line.value]
[3.0, 2.0]
>>> round(line.predict(5), 2), line.prediction_error(5) < 0.1
(13.0, True)
""",
        also=(
            "prediction error",
            "least squares",
        ),
        notes="The usual yardstick, σ √(x̃ᵀ(XᵀX)⁻¹x̃), is that of the data alone; the private error adds the noise "
        "of the table.",
    ),
)
