"""What every declaration says: what stands for NULL, how it is shown, and the range of the integers that are stored."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal

from dither.errors import OutsideDeclared, ParameterError, PolicyError
from dither.exact.frozen import Frozen

LARGEST = 2**62  # every stored integer fits a signed 64-bit word with room for one subtraction
# What values are, in questions and in answers; "local" is a wall clock's time, without zone.
Shown = Literal["number", "boolean", "date", "timestamp", "local", "text"]
_BY_POSITION = ("lower", "upper", "values")
_MOST_FORMATTED = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class Column(Frozen):
    """A declaration. A nullable column keeps NULL; any other stores the declared default in its place."""

    kind: ClassVar[str]
    stated: ClassVar[tuple[str, ...]] = ()  # the fields that a declaration in a file or a shell has to state
    optional: ClassVar[tuple[str, ...]] = ()  # those that it may state
    separator: ClassVar[str] = ":"  # of the fields in a shell
    expected: ClassVar[str]  # what values that fit look like
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
    def shown(self) -> Shown:
        """What the values are."""
        return "text"

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
        first = [_formatted(value) for name, (value, _) in stated.items() if name in _BY_POSITION]
        rest = [
            f"{name}={_formatted(value)}"
            for name, (value, usual) in reversed(stated.items())
            if name not in _BY_POSITION and value != usual
        ]
        return f"{type(self).__name__}({', '.join([*first, *rest])})"

    def declaration(self) -> dict[str, Any]:
        """The declaration as plain JSON, read back by `column_from`."""
        stated = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"kind": self.kind, **{name: _plain(value) for name, value in stated.items() if value is not None}}


class Coded(Column):
    """A column stored as an integer in [low, high]."""

    shown: Shown = "number"
    decimals: int = 0
    _listed: ClassVar[bool] = False  # whether every code is a public value that a group can have
    _beyond: ClassVar[str] = "above"

    @property
    def low(self) -> int:
        raise NotImplementedError

    @property
    def high(self) -> int:
        raise NotImplementedError

    @property
    def key_count(self) -> int | None:
        return self.high - self.low + 1 + self.nullable if self._listed else None

    def decode(self, code: int) -> Any:
        """The value shown for a stored code."""
        return code

    def _code(self, code: int, value: object) -> int:
        if not self.low <= code <= self.high:
            raise OutsideDeclared(repr(value), str(self))
        return code

    def _check_range(self) -> None:
        if not self.low <= self.high:
            lower, upper = (_plain(self.decode(bound)) for bound in (self.low, self.high))
            raise ParameterError(f"the lower bound {lower} is {self._beyond} the upper bound {upper}; exchange them.")
        if not -LARGEST <= self.low <= self.high <= LARGEST:
            raise ParameterError("bounds must fit 62 bits in storage units.")


def _plain(value: object) -> object:
    if isinstance(value, (Decimal, Fraction)):
        return str(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def _formatted(value: object) -> str:
    """A field as a declaration states it."""
    if isinstance(value, tuple):
        more = f", ...] ({len(value):,} labels)" if len(value) > _MOST_FORMATTED else "]"
        return "[" + ", ".join(map(repr, value[:_MOST_FORMATTED])) + more
    if isinstance(value, (int, Decimal)):
        return str(value)
    return repr(_plain(value))
