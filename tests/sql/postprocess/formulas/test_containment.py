"""The exact result lies in the interval, for random terms and random points of the intervals they are computed from."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dither.sql.postprocess.formulas import functions, terms
from dither.sql.postprocess.formulas.estimate import Estimate, below, constant, floats, integers
from dither.sql.postprocess.formulas.terms import Given

GROUPS, POINTS = 24, 4
BINARY = ["add", "subtract", "multiply", "divide", "modulo", "greatest", "least", "coalesce", "nullif"]
UNARY = ["negate", "absolute", "floor", "ceil"]


def number(dice: random.Random) -> Fraction:
    """Signs, zeros, ones, tiny and huge numbers, all of them floats and decimals with two digits."""
    kind = dice.randrange(6)
    if kind == 0:
        return Fraction(0)
    if kind == 1:
        return Fraction(dice.choice([-1, 1, 2, -2]))
    if kind == 2:
        return Fraction(dice.randint(-(10**12), 10**12))
    return Fraction(dice.randint(-2000, 2000), 4)


def interval(dice: random.Random) -> tuple[Fraction, Fraction]:
    low, high = sorted((number(dice), number(dice)))
    return (low, low) if dice.random() < 0.15 else (low, high)


def inside(dice: random.Random, low: float | Fraction, high: float | Fraction, whole: bool) -> Fraction:
    low = Fraction(low) if math.isfinite(low) else min(Fraction(high) if math.isfinite(high) else Fraction(0), -(10**9))
    high = Fraction(high) if math.isfinite(high) else max(low, 0) + 10**9
    low, high = Fraction(low), Fraction(high)
    choice = dice.randrange(5)
    found = [low, high, Fraction(0), (low + high) / 2, low + (high - low) * Fraction(dice.randint(0, 100), 100)][choice]
    found = min(max(found, low), high)
    return Fraction(math.floor(found)) if whole and math.floor(found) >= low else found


def exact_part(dice: random.Random) -> tuple[Estimate, list[list[Fraction | None]]]:
    """Whole numbers of cents."""
    cells, points = [], []
    for _ in range(GROUPS):
        low, high = (math.floor(100 * end) for end in interval(dice))
        cells.append((dice.randint(low, high), low, high))
        points.append([Fraction(math.floor(inside(dice, low, high, True)), 100) for _ in range(POINTS)])
    values, lower, upper = (integers(list(column)) for column in zip(*cells, strict=True))
    return Estimate(values, lower, upper, 2), points


def count_part(dice: random.Random) -> tuple[Estimate, list[list[Fraction | None]]]:
    """A count: noisy values and lower ends may be negative, the exact one never is."""
    cells, points = [], []
    for _ in range(GROUPS):
        exact, width = dice.choice([0, 0, 1, 2, 10, 1000]), dice.choice([0, 1, 5, 50])
        shown = exact + dice.randint(-width, width)
        cells.append((shown, shown - width, shown + width))
        points.append([Fraction(exact)] * POINTS)
    values, lower, upper = (integers(list(column)) for column in zip(*cells, strict=True))
    return Estimate(values, lower, upper, 0, whole=True), points


def float_part(dice: random.Random) -> tuple[Estimate, list[list[Fraction | None]]]:
    """Any numbers, some without bounds, some possibly NULL."""
    cells, points = [], []
    for _ in range(GROUPS):
        low, high = map(float, interval(dice))
        shown = float(inside(dice, low, high, False))
        low, high = min(low, shown), max(high, shown)
        low = -math.inf if dice.random() < 0.1 else low
        high = math.inf if dice.random() < 0.1 else high
        null = dice.random() < 0.2
        cells.append((math.nan if null and dice.random() < 0.5 else shown, low, high, null))
        points.append([None if null and dice.random() < 0.4 else inside(dice, low, high, False) for _ in range(POINTS)])
    values, lower, upper, null = (np.array(column) for column in zip(*cells, strict=True))
    return floats(values, lower, upper, null), points


def literal(dice: random.Random) -> terms.Number:
    return terms.Number(dice.choice([0, 1, 2, 3, 7, 10, 100, -5, 12345]), dice.choice([0, 0, 1, 2]))


def random_term(dice: random.Random, depth: int) -> terms.Term:
    if depth == 0:
        return terms.Part(dice.randrange(3)) if dice.random() < 0.8 else literal(dice)
    kind = dice.randrange(12)
    if kind < 6:
        operands = tuple(random_term(dice, depth - 1) for _ in range(2))
        return terms.Apply(dice.choice(BINARY), operands)
    if kind < 8:
        return terms.Apply(dice.choice(UNARY), (random_term(dice, depth - 1),))
    if kind == 8:
        return terms.Rounded(random_term(dice, depth - 1), dice.choice([-2, 0, 1, 3]))
    if kind == 9:
        return terms.Apply("power", (random_term(dice, depth - 1), terms.Number(dice.choice([0, 1, 2, 3, -1, -2]))))
    if kind == 10:
        return random_term(dice, depth - 1)
    conditions = tuple(random_condition(dice, depth - 1) for _ in range(dice.choice([1, 2])))
    values = tuple(random_term(dice, depth - 1) for _ in conditions)
    return terms.Choice(conditions, values, random_term(dice, depth - 1) if dice.random() < 0.6 else None)


def random_condition(dice: random.Random, depth: int) -> terms.Condition:
    kind = dice.randrange(6) if depth else 0
    if kind < 3:
        operator = dice.choice(["=", "<>", "<", "<=", ">", ">="])
        return terms.Compare(operator, random_term(dice, depth), random_term(dice, depth))
    if kind == 3:
        return terms.Not(random_condition(dice, depth - 1))
    if kind == 4:
        return terms.IsNull(random_term(dice, depth))
    pair = (random_condition(dice, depth - 1), random_condition(dice, depth - 1))
    return (terms.And if dice.random() < 0.5 else terms.Or)(pair)


@pytest.mark.parametrize("seed", range(12))
def test_every_point_of_the_parts_gives_a_result_within_the_interval(seed, exactly, campaign):
    dice = random.Random(seed)
    defined = bounded = 0
    for _ in range(campaign(60)):
        term = random_term(dice, dice.choice([1, 2, 2, 3]))
        parts = [exact_part(dice), count_part(dice), float_part(dice)]
        dice.shuffle(parts)
        found = term.of(Given([part for part, _ in parts]))
        scale = Fraction(1, 10 ** (found.decimals or 0))
        lower, upper, null = (np.broadcast_to(part, GROUPS) for part in (found.lower, found.upper, found.maybe_null))
        for group in range(GROUPS):
            for place in range(POINTS):
                exact = exactly(term, [points[group][place] for _, points in parts])
                if exact is None:
                    assert null[group], term
                    continue
                defined += 1
                for end, sign in ((lower[group], 1), (upper[group], -1)):
                    if isinstance(end, float) and math.isinf(end):
                        assert end * sign < 0, term
                    else:
                        bounded += 1
                        assert (exact - Fraction(end.item() if hasattr(end, "item") else end) * scale) * sign >= 0, term
    assert defined > campaign(3_000)
    assert bounded > defined / 2


@pytest.mark.parametrize("seed", range(4))
def test_the_shown_value_is_computed_from_the_shown_values(seed, exactly):
    """On points instead of intervals the value is the exact result, but for the rounding of floats."""
    dice = random.Random(100 + seed)
    for _ in range(60):
        term = random_term(dice, 2)
        parts = [exact_part(dice), exact_part(dice), exact_part(dice)]
        points = [Estimate(part.values, part.values, part.values, part.decimals) for part, _ in parts]
        found = term.of(Given(points))
        shown = np.broadcast_to(found.values, GROUPS)
        for group in range(GROUPS):
            exact = exactly(term, [Fraction(int(part.values[group]), 100) for part, _ in parts])
            if found.decimals is not None:
                assert exact == Fraction(int(shown[group]), 10**found.decimals)
            elif exact is None:
                assert math.isnan(shown[group])
            elif not unstable(term):
                assert shown[group] == pytest.approx(float(exact), rel=1e-9, abs=1e-9)


def unstable(term: terms.Term) -> bool:
    """Steps, and differences of large numbers: where a float may end far from the exact result."""
    jumps = {"floor", "ceil", "modulo", "nullif", "divide", "power"}
    return any(
        isinstance(node, (terms.Rounded, terms.Choice)) or (isinstance(node, terms.Apply) and node.function in jumps)
        for node in term.walk()
    )


IRRATIONAL = {
    "sqrt": (functions.square_root, lambda x: x.sqrt() if x >= 0 else None),
    "ln": (functions.logarithm, lambda x: x.ln() if x > 0 else None),
    "exp": (functions.exponential, lambda x: x.exp()),
}


@pytest.mark.parametrize("name", IRRATIONAL)
def test_roots_logarithms_and_exponentials(name):
    function, exact = IRRATIONAL[name]
    dice = random.Random(name)
    with localcontext() as context:
        context.prec = 60
        for _ in range(40):
            part, points = float_part(dice)
            if name == "exp":
                values, lower, upper = (np.clip(end, -600, 600) for end in (part.values, part.lower, part.upper))
                part = floats(values, lower, upper, part.maybe_null)
                points = [[None if p is None else min(max(p, -600), 600) for p in group] for group in points]
            found = function(part)
            for group, some in enumerate(points):
                for point in some:
                    result = None if point is None else exact(Decimal(point.numerator) / point.denominator)
                    if result is None:
                        assert found.maybe_null[group]
                    else:
                        assert Decimal(found.lower[group]) <= result <= Decimal(found.upper[group])


def test_powers_with_broken_and_with_noisy_exponents():
    dice = random.Random(3)
    with localcontext() as context:
        context.prec = 60
        for _ in range(200):
            low, high = sorted(Fraction(dice.randint(-40, 400), 20) for _ in range(2))
            least, most = sorted(Fraction(dice.randint(-40, 40), 8) for _ in range(2))
            base = floats(*(np.array([float(end)]) for end in (high, low, high)))
            exponent = floats(*(np.array([float(end)]) for end in (least, least, most)))
            found = functions.power(base, exponent)
            for _ in range(10):
                b, e = inside(dice, low, high, False), inside(dice, least, most, False)
                if b < 0 or (b == 0 and e < 0):
                    assert found.maybe_null[0]
                    continue
                exact = (
                    Decimal(1)
                    if e == 0
                    else (Decimal(b.numerator) / b.denominator) ** (Decimal(e.numerator) / e.denominator)
                )
                assert Decimal(found.lower[0]) <= exact <= Decimal(found.upper[0])
    fixed = functions.power(base, constant(5, 1))
    assert fixed.lower[0] <= fixed.values[0] <= fixed.upper[0]


def test_integers_stay_exact_beyond_64_bits():
    huge = Estimate(integers([2**80 + 1]), integers([2**80]), integers([2**80 + 2]), 2)
    total = terms.Apply("add", (terms.Part(0), terms.Number(1))).of(Given([huge]))
    assert (total.values.tolist(), total.lower.tolist(), total.decimals) == ([2**80 + 101], [2**80 + 100], 2)
    edge = Estimate(*(np.array([-(2**63)]),) * 3, 0)
    for function in ("negate", "absolute"):
        assert terms.Apply(function, (terms.Part(0),)).of(Given([edge])).values.tolist() == [2**63]
    assert terms.Apply("multiply", (terms.Part(0),) * 2).of(Given([edge])).upper.tolist() == [2**126]


def test_numbers_too_large_for_a_float_are_null_and_unbounded():
    big = Estimate(integers([10**200]), integers([10**200]), integers([10**200]), 0)
    term = terms.Part(0)
    for _ in range(5):
        term = terms.Apply("multiply", (term, terms.Part(0)))
    found = term.of(Given([big]))
    assert np.isnan(found.values[0])
    assert found.upper[0] == np.inf
    assert np.isfinite(found.lower[0])


def test_division_where_the_divisor_may_be_zero():
    ten = floats(np.array([10.0]), np.array([5.0]), np.array([15.0]))

    def over(low: float, high: float, shown: float) -> tuple[float, float, float]:
        divisor = floats(np.array([shown]), np.array([low]), np.array([high]))
        found = terms.Apply("divide", (terms.Part(0), terms.Part(1))).of(Given([ten, divisor]))
        assert found.maybe_null[0] == (low <= 0 <= high)
        return found.values[0], found.lower[0], found.upper[0]

    assert over(-1, 1, 0.5) == (20, -math.inf, math.inf)
    assert over(0, 2, 0.5) == (20, pytest.approx(2.5), math.inf)
    assert over(-2, 0, -0.5) == (-20, -math.inf, pytest.approx(-2.5))
    assert over(2, 5, 4) == (2.5, pytest.approx(1), pytest.approx(7.5))
    value, lower, upper = over(0, 0, 0)
    assert (math.isnan(value), lower, upper) == (True, -math.inf, math.inf)


def test_a_divisor_that_counts_is_at_least_one():
    count = Estimate(integers([-3]), integers([-8]), integers([2]), 0, whole=True)
    total = Estimate(integers([40]), integers([0]), integers([80]), 0)
    found = terms.Apply("divide", (terms.Part(0), terms.Part(1))).of(Given([total, count]))
    assert (found.values[0], found.lower[0], found.upper[0]) == (40, 0, pytest.approx(80))
    assert found.maybe_null[0]


def test_a_check_that_can_fail():
    """An interval that is not rounded outward misses: 0.1 + 0.2 in floats is not the exact sum."""
    exact = Fraction(1, 10) + Fraction(2, 10)
    naive = 0.1 + 0.2
    assert Fraction(naive) > exact
    assert Fraction(float(below(np.array([naive]))[0])) < exact
