"""What may be stated with a question, by name and type: servers pass on whatever they are sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from dither.errors import ParameterError
from dither.exact.parameters import Number, exact, whole

EACH, GROUPS = "each", "groups"  # what an interval holds for: each number by itself, or so many of the groups
OVER_GROUPS = (
    "Intervals hold in so many of the groups, on average: one of owners with many rows may be missed for certain."
)


class Stated(TypedDict, total=False):
    """The price of a question, and how it is to be planned and shown."""

    epsilon: Number | None
    rho: Number | None
    error: Number | None
    delta: Number | None
    confidence: Number
    coverage: str
    dialect: str | None
    rows_per_owner: int | None


class StatedRequest(Stated, total=False):
    """The same, and the id of a request that is charged once."""

    request: str | None


def checked(stated: Mapping[str, Any], known: type[Stated]) -> dict[str, Any]:
    """What was stated, if all of it has a name and a type that are known. What it means is decided later."""
    names = known.__annotations__
    for name, value in stated.items():
        if name not in names:
            raise ParameterError.of(name[:60], f"cannot be stated with a question; it takes {', '.join(names)}.")
        if value is not None or name in _NEEDED:
            _CHECKS.get(name, exact)(value, name)
    return dict(stated)


def check_text(value: object, name: str) -> None:
    """Refuse what is no text, or cannot be written down."""
    if not isinstance(value, str):
        raise ParameterError.of(name, f"must be text; got {type(value).__name__}.")
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ParameterError.of(name, "holds half of a character, which cannot be written down.")


def over_groups_of(coverage: object) -> bool:
    """Whether intervals hold in so many of the groups, and not each by itself; anything else is refused."""
    if coverage not in (EACH, GROUPS):
        raise ParameterError.of(
            "coverage", f'is "{EACH}" (each number by itself) or "{GROUPS}" (so many of the groups).'
        )
    return coverage == GROUPS


_NEEDED = ("confidence", "coverage")  # may be left out, but not be None
_CHECKS: dict[str, Callable[[Any, str], object]] = {  # all others are numbers
    "request": check_text,
    "dialect": check_text,
    "coverage": check_text,
    "rows_per_owner": whole,
}
