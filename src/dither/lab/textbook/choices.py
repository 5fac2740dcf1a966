"""Choosing one of several: the most common name, noisy maximum, the exponential mechanism."""

from __future__ import annotations

from dither.lab.textbook.lesson import Lesson

LESSONS = (
    Lesson(
        "Most common name",
        "Which of 10,000 family names is the most frequent? Add noise to each count and publish the winner's "
        "*name*: that costs what one count costs. Its own count would be a second release.",
        """
>>> import dither as dt
>>> counts = {"Sato": 9_000, "Suzuki": 8_000, "Takahashi": 7_000}
>>> dt.NoisyMax(epsilon=1, sensitivity=1, monotone=True).release(counts)
NoisyMax release 'Sato', epsilon 1
>>> dt.stats.mode(["Sato"] * 90 + ["Ito"] * 10, categories=["Sato", "Ito"], epsilon=1)
mode Sato, epsilon 1
""",
        notes="A winner that is within t = 13.6 of the best with probability 0.95 comes from (k-1)(2+t)e^-t/4 = β, "
        "not from the 12.2 that bounds every single noise.",
    ),
    Lesson(
        "Report noisy max",
        "Noise of scale 2Δ/ε on every score, and only the index of the largest is published. Counts under "
        "`add_remove` all move the same way (`monotone=True`), and then Δ/ε is enough.",
        """
>>> import dither as dt
>>> food = {"Salad": 3, "BBQ": 3, "Noodle": 2, "Rice": 3, "Milk": 4}
>>> for noise in ("laplace", "gumbel", "exponential"):
...     chances = dt.NoisyMax(epsilon=2, sensitivity=1, noise=noise).probabilities(food)
...     print(noise, round(chances["Milk"], 3))
laplace 0.477
gumbel 0.447
exponential 0.541
""",
        also=(
            "noisy maximum",
            "argmax",
        ),
        notes="Printed with Lap(1/ε) for any scores. Under `replace` one count rises while another falls, and the "
        "loss reaches 2ε.",
        exhibit="noisy max without the factor 2",
    ),
    Lesson(
        "Exponential mechanism",
        "Choose r with probability in proportion to exp(ε u(D, r)/(2 Δu)). ε-DP for any finite set of answers that "
        "does not depend on the data. For scores that all move the same way the 2 is not needed.",
        """
>>> import dither as dt
>>> choice = dt.Exponential(epsilon=1, sensitivity=1)
>>> {name: round(chance, 4) for name, chance in choice.probabilities({"A": 0, "B": 2}).items()}  # 1/(1 + e)
{'A': 0.2689, 'B': 0.7311}
>>> dt.Exponential(epsilon=1, sensitivity=1, monotone=True).probabilities({"A": 0, "B": 2})["A"] < 0.12
True
>>> choice.guarantee.zcdp().rho  # epsilon^2/8: its loss lies in an interval of length epsilon
Fraction(1, 8)
""",
        also=(
            "utility",
            "score function",
            "quality function",
        ),
        notes="The *improved* utility bound with ln|R| is the weaker one; the other has ln(|R|/|R_opt|). For counts"
        " (0, c) it says 2 e^(-cε/2), and the exact probability is 1/(1 + e^(cε/2)).",
    ),
    Lesson(
        "Permute-and-flip",
        "Visit the candidates in random order and take one with probability exp(ε(u - max u)/(2 Δu)). ε-DP and "
        "never worse than the exponential mechanism.",
        """
>>> import dither as dt
>>> food = {"Salad": 3, "BBQ": 3, "Noodle": 2, "Rice": 3, "Milk": 4}
>>> rules = (dt.Exponential(epsilon=2, sensitivity=1), dt.PermuteAndFlip(epsilon=2, sensitivity=1))
>>> [round(rule.probabilities(food)["Milk"], 3) for rule in rules]
[0.447, 0.541]
""",
        notes="It has no ε²/8: its rho is up to ε tanh(ε/2).",
        exhibit="rho of another choice",
    ),
)
