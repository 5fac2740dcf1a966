"""Column declarations: what a value may be, said by the curator and never learned from data.

Inside, every value but text is an integer: `low` and `high` bound it in storage units (`Fixed` counts 10**-decimals,
`Date` days since 1970-01-01, `Timestamp` microseconds since then in UTC, `Category` the position in its list).

>>> Fixed(0, 100, decimals=2).high
10000
>>> Category(["north", "south"]).encode("south")
1
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from dither.errors import ParameterError, PolicyError
from dither.parameters import Number, exact, whole

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_LARGEST = 2**62  # every stored integer fits a signed 64-bit word with room for one subtraction
_MOST_CATEGORIES = 10_000_000
_BY_POSITION = ("lower", "upper", "values")
_MOST_SHOWN = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class Column:
    """A declaration. A nullable column keeps NULL; any other stores the declared default in its place."""

    kind: ClassVar[str]
    nullable: bool = True
    default: Any = None
    source: str | None = field(default=None, compare=False)  # what the source calls it, if that is not its name here

    def __post_init__(self) -> None:
        if self.source is not None and not (isinstance(self.source, str) and self.source):
            raise PolicyError(f"source= is the name of a column in the source; got {self.source!r}.")
        self._normalise()
        name = type(self).__name__
        if self.nullable and self.default is not None:
            raise PolicyError(f"{name}: a default is used only with nullable=False; drop default={self.default!r}.")
        if not self.nullable and self.default is None:
            raise PolicyError(
                f"{name}(nullable=False) needs default=: the value stored for NULL and for what does not fit."
            )
        if self.default is not None:
            self.encode(self.default)

    def _normalise(self) -> None:
        """Read the fields into exact form and check them."""

    def encode(self, value: object) -> int | str:
        """The stored form of a public value (a default, a literal, a key); anything else is refused."""
        raise PolicyError(f"{type(self).__name__} declares no values.")

    @property
    def stored_default(self) -> int | str | None:
        """What the snapshot holds instead of NULL, or None in a nullable column."""
        return None if self.nullable else self.encode(self.default)

    @property
    def key_count(self) -> int | None:
        """How many public values a group can have, NULL included; None if the column has no public list of them."""
        return None

    def __repr__(self) -> str:
        """As it is declared, with what is said by default left out and a long list of labels cut."""
        stated = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        first = [_shown(value) for name, (value, _) in stated.items() if name in _BY_POSITION]
        rest = [
            f"{name}={_shown(value)}"
            for name, (value, usual) in reversed(stated.items())
            if name not in _BY_POSITION and value != usual
        ]
        return f"{type(self).__name__}({', '.join([*first, *rest])})"

    def declaration(self) -> dict[str, Any]:
        """The declaration as plain JSON, read back by `column_from`."""
        shown = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"kind": self.kind, **{name: _plain(value) for name, value in shown.items() if value is not None}}


class Coded(Column):
    """A column stored as an integer in [low, high]."""

    decimals: int = 0
    _beyond: ClassVar[str] = "above"

    @property
    def low(self) -> int:
        raise NotImplementedError

    @property
    def high(self) -> int:
        raise NotImplementedError

    def decode(self, code: int) -> Any:
        """The value shown for a stored code."""
        return code

    def _code(self, code: int, value: object) -> int:
        if not self.low <= code <= self.high:
            raise PolicyError(f"{value!r} lies outside the declared values of {self}.")
        return code

    def _check_range(self) -> None:
        if not self.low <= self.high:
            lower, upper = (_plain(self.decode(bound)) for bound in (self.low, self.high))
            raise ParameterError(f"the lower bound {lower} is {self._beyond} the upper bound {upper}; exchange them.")
        if not -_LARGEST <= self.low <= self.high <= _LARGEST:
            raise ParameterError(f"{self}: bounds must fit 62 bits in storage units.")


@dataclass(frozen=True, repr=False)
class Int(Coded):
    """Whole numbers in [lower, upper]; others are clamped when loaded."""

    kind = "int"
    lower: int
    upper: int

    def _normalise(self) -> None:
        _set(self, "lower", whole(self.lower, "lower", least=-_LARGEST, most=_LARGEST))
        _set(self, "upper", whole(self.upper, "upper", least=-_LARGEST, most=_LARGEST))
        self._check_range()

    @property
    def low(self) -> int:
        return self.lower

    @property
    def high(self) -> int:
        return self.upper

    @property
    def key_count(self) -> int:
        return self.high - self.low + 1 + self.nullable

    def encode(self, value: object) -> int:
        return self._code(whole(value, "value", least=-_LARGEST), value)  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False)
class Fixed(Coded):
    """Decimal numbers in [lower, upper], kept as whole multiples of 10**-decimals."""

    kind = "fixed"
    lower: Number
    upper: Number
    decimals: int = field(default=2, kw_only=True)

    def _normalise(self) -> None:
        _set(self, "decimals", whole(self.decimals, "decimals", least=0, most=18))
        for name in ("lower", "upper"):
            value = exact(getattr(self, name), name)
            if (value * 10**self.decimals).denominator != 1:
                raise ParameterError(f"Fixed: {name} must be a multiple of 1e-{self.decimals}; got {float(value)}.")
            # scaleb works in the caller's decimal context, which could round; a text of all digits cannot.
            _set(self, name, Decimal(f"{int(value * 10**self.decimals)}e-{self.decimals}"))
        self._check_range()

    @property
    def low(self) -> int:
        return int(Fraction(self.lower) * 10**self.decimals)

    @property
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

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return 1

    @property
    def key_count(self) -> int:
        return 2 + self.nullable

    def encode(self, value: object) -> int:
        if not isinstance(value, bool):
            raise PolicyError(f"a Bool is True or False; got {value!r}.")
        return int(value)

    def decode(self, code: int) -> bool:
        return bool(code)


@dataclass(frozen=True, repr=False)
class Date(Coded):
    """Days in [lower, upper], given as dates or ISO text."""

    kind = "date"
    _beyond = "after"
    lower: datetime.date | str
    upper: datetime.date | str

    def _normalise(self) -> None:
        _set(self, "lower", _read_date(self.lower))
        _set(self, "upper", _read_date(self.upper))
        self._check_range()

    @property
    def low(self) -> int:
        return (_read_date(self.lower) - _EPOCH.date()).days

    @property
    def high(self) -> int:
        return (_read_date(self.upper) - _EPOCH.date()).days

    @property
    def key_count(self) -> int:
        return self.high - self.low + 1 + self.nullable

    def encode(self, value: object) -> int:
        return self._code((_read_date(value) - _EPOCH.date()).days, value)

    def decode(self, code: int) -> datetime.date:
        return _EPOCH.date() + datetime.timedelta(days=code)


@dataclass(frozen=True, repr=False)
class Timestamp(Coded):
    """Instants in [lower, upper], to the microsecond; a time without zone is read as UTC."""

    kind = "timestamp"
    _beyond = "after"
    lower: datetime.datetime | str
    upper: datetime.datetime | str

    def _normalise(self) -> None:
        _set(self, "lower", _read_instant(self.lower))
        _set(self, "upper", _read_instant(self.upper))
        self._check_range()

    @property
    def low(self) -> int:
        return (_read_instant(self.lower) - _EPOCH) // _MICROSECOND

    @property
    def high(self) -> int:
        return (_read_instant(self.upper) - _EPOCH) // _MICROSECOND

    def encode(self, value: object) -> int:
        return self._code((_read_instant(value) - _EPOCH) // _MICROSECOND, value)

    def decode(self, code: int) -> datetime.datetime:
        return _EPOCH + code * _MICROSECOND


@dataclass(frozen=True, repr=False)
class Category(Coded):
    """One of a public list of labels, in the declared order."""

    kind = "category"
    values: tuple[str, ...]

    def _normalise(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise PolicyError('Category takes a list of labels, such as Category(["north", "south"]).')
        labels = tuple(self.values)
        if not all(isinstance(label, str) for label in labels):
            raise PolicyError("Category labels must be text; use Int for numbers and Bool for true or false.")
        if not labels or len(labels) > _MOST_CATEGORIES:
            raise PolicyError(f"Category needs between 1 and {_MOST_CATEGORIES} labels; got {len(labels)}.")
        codes = {label: code for code, label in enumerate(labels)}
        if len(codes) != len(labels):
            raise PolicyError("Category labels must differ from each other.")
        _set(self, "values", labels)
        _set(self, "_codes", codes)

    @classmethod
    def read(cls, path: str | Path, *, nullable: bool = True, default: str | None = None) -> Category:
        """Labels from a text file, one a line."""
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return cls(tuple(line for line in lines if line), nullable=nullable, default=default)

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return len(self.values) - 1

    @property
    def key_count(self) -> int:
        return len(self.values) + self.nullable

    def encode(self, value: object) -> int:
        codes: dict[object, int] = self.__dict__["_codes"]
        if value not in codes:
            raise PolicyError(f"{value!r} is not one of the {len(self.values)} declared labels.")
        return codes[value]

    def decode(self, code: int) -> str:
        return self.values[code]


@dataclass(frozen=True, repr=False)
class Text(Column):
    """Free text: can be compared and matched. It has no public list of values: groups by it show only if frequent."""

    kind = "text"
    max_length: int = field(default=1000, kw_only=True)

    def _normalise(self) -> None:
        whole(self.max_length, "max_length", most=65_536)

    def encode(self, value: object) -> str:
        if not isinstance(value, str) or len(value) > self.max_length:
            raise PolicyError(f"a Text default must be text of at most {self.max_length} characters.")
        return value


KINDS: dict[str, type[Column]] = {
    "int": Int,
    "fixed": Fixed,
    "bool": Bool,
    "date": Date,
    "timestamp": Timestamp,
    "category": Category,
    "text": Text,
}


def column_from(declaration: dict[str, Any]) -> Column:
    """Read a declaration written by `Column.declaration`."""
    given = dict(declaration)
    kind = given.pop("kind", None)
    if kind not in KINDS:
        raise PolicyError(f"unknown column kind {kind!r}; known are {', '.join(KINDS)}.")
    try:
        return KINDS[kind](**given)
    except TypeError as error:
        raise PolicyError(f"column of kind {kind!r}: {error}.") from None


def _set(column: Column, name: str, value: object) -> None:
    object.__setattr__(column, name, value)


def _plain(value: object) -> object:
    if isinstance(value, (Decimal, Fraction)):
        return str(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def _shown(value: object) -> str:
    """A field as a declaration states it."""
    if isinstance(value, tuple):
        more = f", ...] ({len(value):,} labels)" if len(value) > _MOST_SHOWN else "]"
        return "[" + ", ".join(map(repr, value[:_MOST_SHOWN])) + more
    if isinstance(value, (int, Decimal)):
        return str(value)
    return repr(_plain(value))


def _read_date(value: object) -> datetime.date:
    try:
        if isinstance(value, str):
            return datetime.date.fromisoformat(value)
    except ValueError:
        pass
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise ParameterError(f'a date is written like "2024-12-31"; got {value!r}.')
    return value


def _read_instant(value: object) -> datetime.datetime:
    try:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value)
    except ValueError:
        pass
    if not isinstance(value, datetime.datetime):
        raise ParameterError(f'a timestamp is written like "2024-12-31T23:59:59+00:00"; got {value!r}.')
    return value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)
