"""Numbers and booleans."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from dither.errors import ParameterError, PolicyError
from dither.exact.parameters import Number, exact, whole
from dither.policy.columns.column import LARGEST, Coded


@dataclass(frozen=True, repr=False)
class Int(Coded):
    """Whole numbers in [lower, upper]; others are clamped when loaded."""

    kind = "int"
    stated = ("lower", "upper")
    expected = "whole numbers"
    _listed = True
    lower: int
    upper: int

    def _normalise(self) -> None:
        self._keep(lower=whole(self.lower, "lower", least=-LARGEST, most=LARGEST))
        self._keep(upper=whole(self.upper, "upper", least=-LARGEST, most=LARGEST))
        self._check_range()

    @property
    def low(self) -> int:
        return self.lower

    @property
    def high(self) -> int:
        return self.upper

    def encode(self, value: object) -> int:
        return self._code(whole(value, "value", least=-LARGEST), value)  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False)
class Fixed(Coded):
    """Decimal numbers in [lower, upper], kept as whole multiples of 10**-decimals."""

    kind = "fixed"
    stated = ("lower", "upper", "decimals")
    expected = "numbers such as 1234.50, with a decimal point and nothing between thousands"
    lower: Number
    upper: Number
    decimals: int = field(default=2, kw_only=True)

    def _normalise(self) -> None:
        self._keep(decimals=whole(self.decimals, "decimals", least=0, most=18))
        for name in ("lower", "upper"):
            value = exact(getattr(self, name), name)
            if (value * 10**self.decimals).denominator != 1:
                raise ParameterError(f"Fixed: {name} must be a multiple of 1e-{self.decimals}; got {float(value)}.")
            # scaleb works in the caller's decimal context, which could round; a text of all digits cannot.
            self._keep(**{name: Decimal(f"{int(value * 10**self.decimals)}e-{self.decimals}")})
        self._check_range()

    @cached_property
    def low(self) -> int:
        return int(Fraction(self.lower) * 10**self.decimals)

    @cached_property
    def high(self) -> int:
        return int(Fraction(self.upper) * 10**self.decimals)

    def encode(self, value: object) -> int:
        return self._code(round(exact(value, "value") * 10**self.decimals), value)  # type: ignore[arg-type]

    def decode(self, code: int) -> Decimal:
        return Decimal(code).scaleb(-self.decimals)


@dataclass(frozen=True, repr=False)
class Bool(Coded):
    """True or false."""

    kind = "bool"
    shown = "boolean"
    expected = "true or false, 1 or 0"
    _listed = True

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return 1

    def encode(self, value: object) -> int:
        if not isinstance(value, bool):
            raise PolicyError(f"a Bool is True or False; got {value!r}.")
        return int(value)

    def decode(self, code: int) -> bool:
        return bool(code)
