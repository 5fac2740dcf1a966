"""What several releases cost together."""

from __future__ import annotations

from dither.lab.textbook.lesson import Lesson

LESSONS = (
    Lesson(
        "Basic composition",
        "Epsilons add, and deltas; also if later questions depend on earlier answers.",
        """
>>> import dither as dt
>>> dt.compose([dt.Laplace(epsilon=e, sensitivity=1) for e in ("0.1", "0.2", "0.3")]).epsilon
Fraction(3, 5)
>>> dt.compose([dt.ApproxDP(1, "1e-6"), dt.PureDP(1)]).basic()
ApproxDP(epsilon=2, delta=1e-6)
""",
        also=(
            "sequential composition",
            "simple composition",
        ),
        notes="Averaging m answers of ε each costs m ε and has m times the variance of one answer at m ε.",
        exhibit="a count forgotten in composition",
    ),
    Lesson(
        "Parallel composition",
        "Parts that are told apart by the *value* of a record, each asked by itself: under `add_remove` the largest"
        " ε counts.",
        """
>>> import dither as dt
>>> parts = [dt.PureDP(1), dt.PureDP(2)]
>>> dt.parallel(parts).epsilon
Fraction(2, 1)
>>> moved = [dt.PureDP(1, "replace"), dt.PureDP(2, "replace")]
>>> dt.parallel(moved, private_under_both=True).epsilon  # a changed record leaves one part and enters another
Fraction(3, 1)
""",
        notes="Printed with row positions under `add_remove`: removing a row shifts all later ones. Under `replace`"
        " the maximum is too little: it may be twice the largest ε.",
        exhibit="parallel composition by row number",
    ),
    Lesson(
        "Advanced composition",
        "k mechanisms of (ε, δ) together are (ε′, kδ + δ′)-DP with ε′ = √(2k ln(1/δ′)) ε + k ε (e^ε - 1).",
        """
>>> from dither import accounting
>>> steps = {"epsilon": "0.1", "k": 100, "delta_prime": "1e-6"}
>>> round(float(accounting.advanced(mean="textbook", **steps).epsilon), 4)
6.3082
>>> round(float(accounting.advanced(**steps).epsilon), 4)  # k epsilon tanh(epsilon/2) in the second term
5.7561
>>> round(accounting.optimal(epsilon="0.1", k=100, at="1e-6").upper, 4)  # the best that can be said
4.7746
""",
        also=("strong composition",),
        notes="δ′ ≥ 0 is printed; δ′ > 0 is meant. ε(e^ε - 1) is loose: the expected loss is at most ε tanh(ε/2).",
        exhibit="advanced composition without the 2",
    ),
    Lesson(
        "Inverse of advanced composition",
        "Which ε for each of k steps, if all together may cost (ε′, δ′)? Two closed forms are quoted: ε′/(2√(2k "
        "ln(1/δ′))) and, without the 2 under the root, ε′/(2√(k ln(1/δ′))).",
        """
>>> from dither import accounting
>>> whole = {"epsilon": 1, "k": 100, "delta_prime": "1e-6"}
>>> round(float(accounting.closed_inverse(rule="textbook", **whole)), 5)
0.00951
>>> round(float(accounting.closed_inverse(rule="short root", **whole)), 5)
0.01345
>>> round(float(accounting.advanced_inverse(**whole)), 5)  # the bound itself, inverted
0.01838
>>> round(float(accounting.optimal_inverse(epsilon=1, k=100, at="1e-6")), 5)
0.02401
""",
        notes="The second form is √2 larger than the corollary proves. It satisfies the bound for ε′ ≤ 1 and δ′ ≤ "
        "0.33 and is refused where it does not; the first gives about half of what the bound allows.",
    ),
    Lesson(
        "Composition lemma for different distributions",
        "If D_α(P‖R) ≤ a α and D_α(R‖Q) ≤ b α for all orders α > 1, then D_α(P‖Q) ≤ (√a + √b)² α, also where a and "
        "b differ. It adds up a shift and a stretch of noise, and the steps of a group.",
        """
>>> import dither as dt
>>> round(float(dt.accounting.triangle(dt.ZCDP("0.02"), dt.ZCDP("0.03")).rho), 6)
0.09899
>>> dt.accounting.triangle(dt.ZCDP(1), dt.ZCDP(1)).rho  # two people: four times
Fraction(4, 1)
""",
        also=("triangle inequality",),
        notes="2(a + b) is often printed: right where a = b, larger than needed elsewhere.",
        exhibit="rho of a group taken ten times",
    ),
)
