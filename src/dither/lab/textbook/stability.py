"""Tests before a release: distance to instability, propose-test-release, private bounds of a sensitivity."""

from __future__ import annotations

from dither.lab.textbook.lesson import Lesson

LESSONS = (
    Lesson(
        "Distance to instability",
        "How many records must change before the answer does, less one. If a noisy distance passes a threshold, the"
        " answer is published exactly, else REFUSED, which costs the same.",
        """
>>> import dither as dt
>>> dt.sensitivity.distance.mode("aabac", categories="abc")  # two more b or c, and it is no longer a alone
2
>>> stable = dt.StableRelease(epsilon=1, delta="1e-6")
>>> stable.threshold  # of this discrete noise; ln(1/(2 delta)) = 13.1
14
>>> stable.release("a", distance=100)
StableRelease release 'a', epsilon 1, delta 1e-06
""",
        also=(
            "Dist2Instability",
            "instability",
            "stability-based release",
        ),
        notes="The threshold is printed as Lap(1/ε)/ε or Lap(1/δ)/ε; read ln(1/δ)/ε, which spends δ/2: ln(1/(2δ))/ε"
        " is enough. The proof must split on f(x) = f(x′): (2, 2) has distance 0, and its neighbour (3, 2) "
        "the same mode and distance 1.",
        exhibit="a threshold off by one",
    ),
    Lesson(
        "Propose-test-release",
        "Propose a bound B on the local sensitivity; test privately that the data are far from any with a larger "
        "one; then release with Lap(B/ε). The distance is the smallest k with A^(k) > B.",
        """
>>> import dither as dt
>>> tested = dt.ProposeTestRelease(epsilon=1, delta="1e-6", bound=2, grid=1, relation="replace")
>>> ages = [40, 41, 41, 42, 42, 42, 43, 43, 44] * 200
>>> far = dt.sensitivity.median.distance(ages, 2, 0, 120)
>>> far >= tested.threshold
True
>>> tested.release(42, distance=far).value is dt.REFUSED
False
>>> tested.guarantee
ApproxDP(epsilon=1, delta=1e-6, relation='replace')
""",
        also=("PTR",),
        notes="The proof writes Lap(1/ε) for the answer: with B > 1 that would not be private. Here ε is the whole "
        "price; the notes' two halves cost 2ε.",
        exhibit="propose-test-release without the bound in the noise",
    ),
    Lesson(
        "Private bound on the local sensitivity",
        "Where the local sensitivity itself moves slowly, publish an upper bound U = LS + Lap(1/ε₁) + "
        "ln(1/(2δ))/ε₁, then the answer with Lap(U/ε₂).",
        """
>>> import dither as dt
>>> bounded = dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5", slope=1, grid=1)
>>> float(bounded.shift)  # half of epsilon pays for it: ln(1/(2 delta))/0.5 = 21.6
22.0
>>> answer = bounded.release(10**6, local_sensitivity=7)
>>> print("noise for a bound of", answer.bound)
noise for a bound of ...
""",
        notes="The printed proof multiplies an integral of conditional probabilities by a probability; the event "
        "must be tied to the first database.",
    ),
)
