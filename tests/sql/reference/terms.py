"""Values of one row, slowly: numbers are Fractions, texts str, days date, instants aware datetimes, NULL is None.

Nothing here knows how dither computes: only the meaning that its page on SQL states.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Row = Mapping[tuple[str, str], Any]
DIVISION_DECIMALS = 6


class Unknown(Exception):
    """A form that this reference does not evaluate."""


@dataclass(frozen=True)
class Term:
    """Kind (number, text, boolean, date, timestamp, local, null) and decimals of an expression; its value in a row."""

    kind: str
    decimals: int
    of: Callable[[Row], Any]


def constant(kind: str, value: Any, decimals: int = 0) -> Term:
    return Term(kind, decimals, lambda row: value)


def lifted(function: Callable[..., Any], *terms: Term) -> Callable[[Row], Any]:
    """The function where no operand is NULL, and NULL elsewhere."""

    def of(row: Row) -> Any:
        values = [term.of(row) for term in terms]
        return None if any(value is None for value in values) else function(*values)

    return of


def cut(value: Fraction, decimals: int = 0) -> Fraction:
    """Toward zero after that many decimals."""
    size = abs(value) * 10**decimals
    whole = Fraction(size.numerator // size.denominator, 10**decimals)
    return whole if value >= 0 else -whole


def joined(terms: Sequence[Term]) -> tuple[str, int]:
    """The kind and the decimals of a choice among terms; NULL fits every kind."""
    given = [term for term in terms if term.kind != "null"]
    kinds = {term.kind for term in given}
    if kinds == {"date", "timestamp"}:
        kinds = {"timestamp"}
    if len(kinds) > 1:
        raise Unknown(f"a choice among {sorted(kinds)}")
    return (kinds.pop() if kinds else "null"), max((term.decimals for term in given), default=0)


# Arithmetic


def add(a: Term, b: Term) -> Term:
    return Term("number", max(a.decimals, b.decimals), lifted(lambda x, y: x + y, a, b))


def subtract(a: Term, b: Term) -> Term:
    return Term("number", max(a.decimals, b.decimals), lifted(lambda x, y: x - y, a, b))


def multiply(a: Term, b: Term) -> Term:
    return Term("number", a.decimals + b.decimals, lifted(lambda x, y: x * y, a, b))


def divide(a: Term, b: Term) -> Term:
    decimals = 0 if a.decimals == b.decimals == 0 else max(a.decimals, b.decimals, DIVISION_DECIMALS)
    return Term("number", decimals, lifted(lambda x, y: None if y == 0 else cut(x / y, decimals), a, b))


def modulo(a: Term, b: Term) -> Term:
    def left(x: Fraction, y: Fraction) -> Fraction | None:
        return None if y == 0 else x - y * cut(x / y)

    return Term("number", max(a.decimals, b.decimals), lifted(left, a, b))


# Truths


def truth_and(terms: Sequence[Term]) -> Term:
    def of(row: Row) -> bool | None:
        values = [term.of(row) for term in terms]
        return False if False in values else None if None in values else True

    return Term("boolean", 0, of)


def truth_or(terms: Sequence[Term]) -> Term:
    def of(row: Row) -> bool | None:
        values = [term.of(row) for term in terms]
        return True if True in values else None if None in values else False

    return Term("boolean", 0, of)


def truth_not(term: Term) -> Term:
    return Term("boolean", 0, lifted(lambda x: not x, term))


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "EQ": lambda a, b: a == b,
    "NEQ": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LTE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GTE": lambda a, b: a >= b,
}


def compare(operator: str, a: Term, b: Term) -> Term:
    """Two values of one kind; text order is by code points, as Python's is."""
    a, b = matched(a, b), matched(b, a)
    if a.kind != b.kind:
        raise Unknown(f"{a.kind} compared with {b.kind}")
    return Term("boolean", 0, lifted(COMPARE[operator], a, b))


def matched(term: Term, beside: Term) -> Term:
    """Quoted text beside a date or time is one; a date beside a time is its midnight in UTC."""
    if term.kind == "literal":
        text = str(term.of({}))
        if beside.kind == "date":
            return constant("date", read_day(text))
        if beside.kind == "timestamp":
            return constant("timestamp", read_instant(text))
        return (
            constant("local", read_instant(text).replace(tzinfo=None))
            if beside.kind == "local"
            else constant("text", text)
        )
    if term.kind == "date" and beside.kind == "timestamp":
        return Term("timestamp", 0, lifted(midnight, term))
    if term.kind == "local" and beside.kind == "timestamp":  # times without a zone are UTC
        return Term("timestamp", 0, lifted(lambda moment: moment.replace(tzinfo=datetime.UTC), term))
    if term.kind == "date" and beside.kind == "local":
        return Term("local", 0, lifted(lambda day: midnight(day).replace(tzinfo=None), term))
    return term


def midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)


def read_day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def read_instant(text: str) -> datetime.datetime:
    read = datetime.datetime.fromisoformat(text)
    return read.replace(tzinfo=datetime.UTC) if read.tzinfo is None else read.astimezone(datetime.UTC)


def like(text: str, pattern: str, escape: str = "\\", any_case: bool = False) -> bool:
    """Whether the text matches: % is any run of characters, _ one of them, the escape takes the next as it is."""
    wanted: list[str | None] = []  # a character, "" for any one, None for any run
    signs = iter(pattern)
    for sign in signs:
        if escape and sign == escape:
            wanted.append(next(signs))
        else:
            wanted.append({"%": None, "_": ""}.get(sign, sign))
    reached = _over_runs({0}, wanted)  # how much of the pattern may be used up

    def matches(sign: str | None, character: str) -> bool:
        return sign == "" or character in ({sign, sign.lower(), sign.upper()} if sign and any_case else {sign})

    for character in text:
        step = {place + 1 for place in reached if place < len(wanted) and matches(wanted[place], character)}
        stay = {place for place in reached if place < len(wanted) and wanted[place] is None}
        reached = _over_runs(step | stay, wanted)
    return len(wanted) in reached


def _over_runs(places: set[int], wanted: Sequence[str | None]) -> set[int]:
    """A run may be empty, so a place before one is a place after it too."""
    found = set(places)
    for place in sorted(places):
        while place < len(wanted) and wanted[place] is None:
            place += 1
            found.add(place)
    return found
