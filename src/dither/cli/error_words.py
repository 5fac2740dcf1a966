"""Errors of the library in the words of the command line: a flag or a command where Python has an argument or a call.

They are made from an error's code and fields, never from its words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.errors import DitherError
from dither.escape import visible_lines

_FLAGS = ("max_rows_per_owner", "max_rows", "rows_per_owner")  # parameters that look like Python


def words(error: DitherError, folder: object = "FOLDER") -> str:
    """What the command line says; `folder` is the curator's, for commands that it proposes.

    >>> from dither.errors import ProfileMissing
    >>> words(ProfileMissing("visits"))
    "table 'visits' has no profile of its current data; make one with `dither profile`."
    """
    say = _WORDS.get(error.code)
    return str(error) if say is None else visible_lines(say(error, folder))


def _parameter(error: Any, _: object) -> str:
    return f"{_flag(error.name)} {error.rule}" if error.name in _FLAGS else str(error)


def _budget(error: Any, _: object) -> str:
    if not error.asked:
        return str(error)
    return f"the price {', '.join(f'{_flag(name)} {value}' for name, value in error.asked.items())} {error.predicate}"


def _records(error: Any, _: object) -> str:
    return (
        f"table {error.table!r} is refused, as --strict asks: {'; '.join(error.found)}. Correct the source or the "
        "declarations, or load it without --strict to have them sanitised."
    )


def _delta(*_: object) -> str:
    return "--delta pays for keys taken from the data; all keys of this query are public: leave it out."


def _unpriced(error: Any, _: object) -> str:
    first = "make one with `dither profile`, or " if error.by_profile else ""
    return f"{error.what} {first}state --epsilon, or --rho where the budget counts in it."


def _table(error: Any, _: object) -> str:
    return (
        f"{error.what} ask it as it is, use `dither refresh` for new data, or `dither drop` it first to declare it "
        "anew (what was spent stays spent)."
    )


def _profile(error: Any, _: object) -> str:
    return f"{error.what} make one with `dither profile`."


def _column(error: Any, _: object) -> str:
    if error.delimiter is None:
        return str(error)
    return f"{error.what} Its fields look separated by {error.delimiter!r}: state --delimiter {error.delimiter!r}."


def _analyst(error: Any, folder: object) -> str:
    people = error.people[0] if len(error.people) == 1 else "PEOPLE"
    return (
        f"{error.what} known are: {', '.join(error.known) or 'none'}. Make one with "
        f"dither init {folder} --people {people} --analyst {error.analyst} --epsilon 1."
    )


def _cap(error: Any, folder: object) -> str:
    cap = f"dither init {folder} --people {error.people} --analyst {error.analyst} --epsilon 1"
    return f"{error.what} make one with {cap}."


def _frozen(error: Any, folder: object) -> str:
    return f"{error.what} To thaw them: dither thaw {folder} {error.people}."


def _analyst_frozen(error: Any, folder: object) -> str:
    return f"{error.what} To thaw it: dither thaw {folder} {error.people} --analyst {error.analyst}."


def _ledger(error: Any, _: object) -> str:
    rest = "check the path, or restore the folder" if error.exists else "or check the path"
    return f"{error.what} make one with `dither init`, {rest}."


_WORDS: dict[str, Callable[[Any, object], str]] = {  # by code; all others say the same everywhere
    "parameter_invalid": _parameter,
    "budget_exceeded": _budget,
    "records_refused": _records,
    "delta_unneeded": _delta,
    "error_unpriced": _unpriced,
    "table_exists": _table,
    "profile_missing": _profile,
    "column_missing": _column,
    "analyst_missing": _analyst,
    "cap_missing": _cap,
    "people_frozen": _frozen,
    "analyst_frozen": _analyst_frozen,
    "ledger_missing": _ledger,
}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
