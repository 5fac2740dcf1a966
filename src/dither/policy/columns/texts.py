"""Text: one of a public list of labels, or anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dither.errors import PolicyError
from dither.exact.parameters import whole
from dither.policy.columns.column import Coded, Column

_MOST_CATEGORIES = 10_000_000


@dataclass(frozen=True, repr=False)
class Category(Coded):
    """One of a public list of labels, in the declared order."""

    kind = "category"
    shown = "text"
    expected = "exactly the declared labels (letter case and spaces around them matter)"
    _listed = True
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
        self._keep(values=labels)
        self._keep(_codes=codes)

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
    optional = ("max_length",)
    expected = "text within its max_length"
    max_length: int = field(default=1000, kw_only=True)

    def _normalise(self) -> None:
        whole(self.max_length, "max_length", most=65_536)

    def encode(self, value: object) -> str:
        if not isinstance(value, str) or len(value) > self.max_length:
            raise PolicyError(f"a Text default must be text of at most {self.max_length} characters.")
        return value
