"""What may be stated with a question, by name and type: servers pass on whatever they are sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypedDict

from dither.errors import ParameterError
from dither.exact.parameters import Number, exact, probability, whole
from dither.lazy import importing

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
    limit_rows: str


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


def confidence_of(stated: Mapping[str, Any]) -> Fraction:
    """How likely intervals are to hold: 0.95 if nothing is said."""
    return probability(stated.get("confidence", "0.95"), "confidence")


def with_clause(text: object, stated: dict[str, Any]) -> dict[str, Any]:
    """What was stated, and what BigQuery's own clause in the text states; both may not say different things."""
    if str(stated.get("dialect") or "").lower() != "bigquery" or not isinstance(text, str):
        return stated
    with importing():
        from dither.sql.text import limits
        from dither.sql.text.dialects.privacy_clause import privacy_clause
        from dither.sql.text.dialects.vocabularies import VOCABULARIES

    lexicon = VOCABULARIES["bigquery"].lexicon
    limits.tokens(text, lexicon.tokens)
    clause = privacy_clause(text, lexicon)
    if clause is None:
        return stated
    prices = [name for name in ("rho", "error") if stated.get(name) is not None and "epsilon" in clause.stated]
    for name in [*prices, *clause.stated]:
        given, written = stated.get(name), clause.stated.get(name)
        if given is not None and (written is None or exact(given, name) != exact(written, name)):
            raise ParameterError.of(name, "and the clause in the text state different things. State it once.")
    # The clause always has a delta, and where all keys are public nothing is paid with it.
    keys_alone = {"delta_for_keys": True} if "delta" in clause.stated else {}
    return {**stated, **clause.stated, **keys_alone}


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


_NEEDED = ("confidence", "coverage", "limit_rows")  # may be left out, but not be None
_CHECKS: dict[str, Callable[[Any, str], object]] = {  # all others are numbers
    "request": check_text,
    "dialect": check_text,
    "coverage": check_text,
    "limit_rows": check_text,
    "rows_per_owner": whole,
}
