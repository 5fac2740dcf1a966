"""Declared structure: how an owner's rows may lie, beyond how many there are. It is enforced when data are loaded.

What is true of the snapshot by construction needs no noise to hide: where groups are made by a column of which an owner
has one row a value, M rows move a vector of counts by sqrt(M) in L2, not by M.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dither.errors import PolicyError
from dither.exact.digits import counted
from dither.exact.parameters import whole


@dataclass(frozen=True)
class Structure:
    """`rows_in`: at most so many rows of an owner have the same value of a column. `values`: an owner's rows have at
    most so many different values of it. NULL is a value like others."""

    rows_in: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows_in or self.values)

    def __str__(self) -> str:
        said = [f"{counted(most, 'row')} of each owner in each {name}" for name, most in self.rows_in.items()]
        said += [f"{counted(most, 'value')} of {name} for each owner" for name, most in self.values.items()]
        return ", ".join(f"at most {one}" for one in said)


def checked(structure: Structure, table: str, rows: int) -> Structure:
    """The structure with whole numbers, each of which says more than that an owner has at most `rows` rows."""
    return Structure(
        _checked(structure.rows_in, "max_rows_per_owner_in", table, rows),
        _checked(structure.values, "max_values_per_owner", table, rows),
    )


def _checked(stated: Mapping[str, int], what: str, table: str, rows: int) -> dict[str, int]:
    found = {name: whole(most, f"{what}[{name!r}]", most=2**31 - 1) for name, most in stated.items()}
    for name, most in found.items():
        if most >= rows:
            raise PolicyError(
                f"table {table!r}: {what} states {most} for {name!r}, which says nothing where max_rows_per_owner is "
                f"{rows}; state less, or leave it out."
            )
    return found
