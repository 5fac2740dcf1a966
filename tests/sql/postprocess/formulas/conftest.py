"""Exact evaluation of terms on single points, in rational numbers: what intervals have to contain."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dither.sql.postprocess.formulas import terms

Point = list[Fraction | None]


def value(term: Any, point: Point) -> Fraction | None:
    """The exact number, None for NULL; rational functions only."""
    match term:
        case terms.Part(index):
            return point[index]
        case terms.Number(number, decimals):
            return Fraction(number, 10**decimals)
        case terms.Missing():
            return None
        case terms.Rounded(operand, digits):
            found = value(operand, point)
            return None if found is None else half_away(found, digits)
        case terms.Choice(conditions, values, otherwise):
            for condition, branch in zip(conditions, values, strict=True):
                if truth(condition, point):
                    return value(branch, point)
            return None if otherwise is None else value(otherwise, point)
        case terms.Apply(function, operands):
            found = [value(operand, point) for operand in operands]
            if function in ("coalesce", "greatest", "least"):
                present = [number for number in found if number is not None]
                choose = {"coalesce": lambda numbers: numbers[0], "greatest": max, "least": min}[function]
                return choose(present) if present else None
            if any(number is None for number in found):
                return found[0] if function == "nullif" else None
            return RATIONAL[function](*found)
    raise TypeError(term)


def truth(condition: Any, point: Point) -> bool | None:
    match condition:
        case terms.Compare(operator, left, right):
            a, b = value(left, point), value(right, point)
            return None if a is None or b is None else COMPARE[operator](a, b)
        case terms.IsNull(operand):
            return value(operand, point) is None
        case terms.Not(operand):
            found = truth(operand, point)
            return None if found is None else not found
        case terms.And(operands):
            found = [truth(operand, point) for operand in operands]
            return False if False in found else None if None in found else True
        case terms.Or(operands):
            found = [truth(operand, point) for operand in operands]
            return True if True in found else None if None in found else False
        case terms.Always(known):
            return known
    raise TypeError(condition)


def half_away(number: Fraction, digits: int) -> Fraction:
    unit = Fraction(10) ** -digits
    whole = math.floor(abs(number) / unit + Fraction(1, 2))
    return (whole if number >= 0 else -whole) * unit


def remainder(a: Fraction, b: Fraction) -> Fraction | None:
    return None if b == 0 else a - b * math.trunc(a / b)


def power(base: Fraction, exponent: Fraction) -> Fraction | None:
    return None if base == 0 and exponent < 0 else base ** int(exponent)


RATIONAL: dict[str, Callable[..., Fraction | None]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: None if b == 0 else a / b,
    "modulo": remainder,
    "negate": lambda a: -a,
    "absolute": abs,
    "floor": lambda a: Fraction(math.floor(a)),
    "ceil": lambda a: Fraction(math.ceil(a)),
    "nullif": lambda a, b: None if a == b else a,
    "power": power,
}
COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@pytest.fixture(scope="session")
def exactly() -> Callable[[Any, Point], Fraction | None]:
    return value


@pytest.fixture(scope="session")
def exact_truth() -> Callable[[Any, Point], bool | None]:
    return truth
