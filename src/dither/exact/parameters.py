"""Exact numbers from whatever the caller writes: read once, checked positively (so NaN fails), kept as Fractions.

>>> exact("0.1", "epsilon")
Fraction(1, 10)
>>> exact(0.1, "epsilon")            # a float means its shortest decimal form
Fraction(1, 10)
"""

from __future__ import annotations

import math
import operator
import re
from decimal import Decimal
from fractions import Fraction

from dither.errors import ParameterError

Number = int | str | Decimal | Fraction | float

# Magnitudes outside this range are typing errors, and would let a caller make exact arithmetic arbitrarily slow.
SMALLEST = Fraction(1, 10**300)
LARGEST = Fraction(10**300)
_LONGEST_TEXT = 700
_MOST_BITS = 4096
# A quotient of shorter numbers than this is certainly within the range above.
_FEW_BITS = 990

# ASCII digits only, so that what is read is what a reader sees: 12, 1.5, .5, 1e-6, 1/3.
_WRITTEN = re.compile(r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?)")
_FORMS = 'Give an int, a Fraction, a Decimal, a float, or text such as "0.1", "1e-6" or "1/3".'


def exact(value: Number, name: str) -> Fraction:
    """The rational number that `value` means; refuses bool, NaN, infinities and absurd magnitudes."""
    number = _read(value, name)
    if number.numerator.bit_length() < _FEW_BITS and number.denominator.bit_length() < _FEW_BITS:
        return number  # between 2^-990 and 2^990, or 0
    if number.numerator.bit_length() > _MOST_BITS or number.denominator.bit_length() > _MOST_BITS:
        raise ParameterError.of(name, "has too many digits; round it outward to at most 1200.")
    if number and not SMALLEST <= abs(number) <= LARGEST:
        raise ParameterError.of(name, f"must be 0 or of a magnitude between 1e-300 and 1e300; got {_formatted(value)}.")
    return number


def positive(value: Number, name: str) -> Fraction:
    """An exact number > 0."""
    number = exact(value, name)
    if not number > 0:
        raise ParameterError.of(name, f"must be greater than 0; got {_formatted(value)}.")
    return number


def non_negative(value: Number, name: str) -> Fraction:
    """An exact number >= 0."""
    number = exact(value, name)
    if not number >= 0:
        raise ParameterError.of(name, f"must be 0 or more; got {_formatted(value)}.")
    return number


def probability(value: Number, name: str) -> Fraction:
    """An exact number strictly between 0 and 1."""
    number = exact(value, name)
    if not 0 < number < 1:
        raise ParameterError.of(name, f"must lie strictly between 0 and 1; got {_formatted(value)}.")
    return number


def interval(lower: Number, upper: Number, name: str) -> tuple[Fraction, Fraction]:
    """Declared bounds: finite, lower < upper."""
    low, high = exact(lower, f"lower bound of {name}"), exact(upper, f"upper bound of {name}")
    if not low < high:
        raise ParameterError(
            f"the bounds of {name} must satisfy lower < upper; got [{_formatted(lower)}, {_formatted(upper)}]."
        )
    return low, high


def whole(value: int, name: str, *, least: int = 1, most: int | None = None) -> int:
    """A whole number in [least, most]."""
    number = None if isinstance(value, bool) else _index(value)
    if number is None:
        raise ParameterError.of(name, f"must be a whole number; got {_formatted(value)}.")
    if not least <= number or (most is not None and not number <= most):
        allowed = f"at least {least}" if most is None else f"between {least} and {most}"
        raise ParameterError.of(name, f"must be {allowed}; got {_formatted(value)}.")
    return number


def ceil_units(value: Fraction, unit: Fraction) -> int:
    """How many whole units cover `value`: a price is rounded up."""
    return math.ceil(value / unit)


def floor_units(value: Fraction, unit: Fraction) -> int:
    """How many whole units fit into `value`: a cap is rounded down."""
    return math.floor(value / unit)


def power_of_two_below(value: Fraction) -> Fraction:
    """The largest power of two that is not above a number > 0."""
    power = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())
    return power if power <= value else power / 2


def sqrt_up(value: Fraction, bits: int = 96) -> Fraction:
    """The square root rounded up to about `bits` significant bits (exact when it fits)."""
    return _sqrt(value, bits, up=True)


def sqrt_down(value: Fraction, bits: int = 96) -> Fraction:
    """The square root rounded down to about `bits` significant bits (exact when it fits)."""
    return _sqrt(value, bits, up=False)


def _sqrt(value: Fraction, bits: int, *, up: bool) -> Fraction:
    if not value >= 0:
        raise ParameterError("the square root of a negative number was asked for.")
    if not value:
        return Fraction(0)
    magnitude = value.numerator.bit_length() - value.denominator.bit_length()
    shift = max(0, 2 * bits - magnitude + 2)
    shift += shift % 2
    scaled_floor = (value.numerator << shift) // value.denominator
    root = math.isqrt(scaled_floor)
    if up and Fraction(root * root, 1 << shift) != value:
        root += 1
    return Fraction(root, 1 << (shift // 2))


def _read(value: Number, name: str) -> Fraction:
    if isinstance(value, bool):
        raise ParameterError.of(name, f"must be a number, not {value}.", _FORMS)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ParameterError.of(name, f"must be finite; got {value}.")
        return Fraction(*Decimal(repr(float(value))).as_integer_ratio())
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ParameterError.of(name, f"must be finite; got {value}.")
        return _from_text(str(value), name)
    if isinstance(value, str):
        return _from_text(value, name)
    number = _index(value)
    if number is None:
        raise ParameterError.of(name, f"must be a number; got {type(value).__name__}.", _FORMS)
    return Fraction(number)


def _index(value: object) -> int | None:
    """The whole number behind an int or a NumPy integer, None for anything else (NumPy's bool included)."""
    if "bool" in type(value).__name__:
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _from_text(text: str, name: str) -> Fraction:
    formatted = _formatted(text)
    if len(text) > _LONGEST_TEXT:
        raise ParameterError.of(name, f"is {len(text)} characters long; at most {_LONGEST_TEXT} are read.")
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        raise ParameterError.of(name, f"must be a finite number; got {formatted}.", _FORMS)
    # Checked before the power of ten is computed: a long exponent would take forever.
    if abs(int(written["exponent"] or 0)) > 1000:
        raise ParameterError.of(name, f"must be 0 or of a magnitude between 1e-300 and 1e300; got {formatted}.")
    try:
        return Fraction(written[0])
    except ZeroDivisionError:
        raise ParameterError.of(name, f"has a denominator of 0; got {formatted}.", _FORMS) from None


def _formatted(value: object) -> str:
    """The value as the caller wrote it, cut short."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
