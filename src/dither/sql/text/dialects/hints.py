"""What to write in place of a function that a dialect's list does not have: a form that the same list does have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.sql.text import grammar

if TYPE_CHECKING:
    from dither.sql.text.dialects.vocabulary import Vocabulary

_KNOWN = "The page on dialects lists what is; anything can be written in PostgreSQL's dialect."
_FROM_MONDAY, _FROM_SUNDAY = ", where 1 is Monday and 7 Sunday", ", where 1 is Sunday and 7 Saturday"
# Forms of which the first that a dialect has is said, and what goes without saying in it.
_WEEKDAY = {
    "ISODOW(x)": _FROM_MONDAY,
    "DAYOFWEEKISO(x)": _FROM_MONDAY,
    "DAY_OF_WEEK(x)": _FROM_MONDAY,
    "DAYOFWEEK(x)": _FROM_SUNDAY,
    "EXTRACT(DAYOFWEEK FROM x)": _FROM_SUNDAY,
    "EXTRACT(DOW FROM x)": ", where 0 is Sunday and 6 Saturday",
}
_WEEK = dict.fromkeys(
    ("WEEKOFYEAR(x)", "WEEKISO(x)", "TOISOWEEK(x)", "WEEK(x)", "EXTRACT(ISOWEEK FROM x)", "DATEPART(iso_week, x)"), ""
)
_PARTS = {
    part: dict.fromkeys((f"{part}(x)", f"EXTRACT({part} FROM x)", f"TO{part}(x)", f"DATEPART({part}, x)"), "")
    for part in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
}
_FORMATTED = dict.fromkeys(_PARTS["MONTH"], ", and other parts likewise")
_RANKED = dict.fromkeys(("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)", "MEDIAN(x)"), "")
_CLOCK = dict.fromkeys(("DATE '2024-12-31'", "'2024-12-31'"), "")
_FORMS: dict[str, dict[str, str]] = {
    **_PARTS,
    "DAYOFMONTH": {"TODAYOFMONTH(x)": "", **_PARTS["DAY"]},
    **dict.fromkeys(("WEEK", "WEEKOFYEAR", "WEEK_OF_YEAR", "WEEKISO", "ISOWEEK", "TOISOWEEK"), _WEEK),
    **dict.fromkeys(
        ("DAYOFWEEK", "WEEKDAY", "DAY_OF_WEEK", "DOW", "ISODOW", "DAYOFWEEKISO", "DAYOFWEEK_ISO", "TODAYOFWEEK"),
        _WEEKDAY,
    ),
    **{name: _CLOCK for name, (what, _) in grammar.FUNCTIONS.items() if "one moment to the next" in what},
    "DATE": {"CAST(x AS DATE)": ""},
    **{name: _FORMATTED for name, said in grammar.FUNCTIONS.items() if said is grammar.FORMATS and name != "FORMAT"},
    **{name: _RANKED for name, said in grammar.FUNCTIONS.items() if said is grammar.RANKS},
}
# Functions of which nothing else is said in any dialect but PostgreSQL's.
_OURS = ("FORMAT", "DATEDIFF", "DATE_DIFF", "AGE", "TIMEZONE", "INITCAP")


def refusal(vocabulary: Vocabulary, name: str) -> tuple[str, str]:
    """What is wrong with a function that is not on the list, if more is known than that, and what to write instead."""
    what, hint = grammar.FUNCTIONS.get(name, ("", _KNOWN))
    if name in vocabulary.instead:
        return "", vocabulary.instead[name]
    if name in _FORMS:
        has = [f"{form}{note}" for form, note in _FORMS[name].items() if _is_known(vocabulary, form)]
        clock = "the date or time itself: " if _FORMS[name] is _CLOCK else ""
        return what if clock else "", f"Write {clock}{has[0]}." if has else _KNOWN
    return ("", _KNOWN) if name in _OURS else (what, hint)


def _is_known(vocabulary: Vocabulary, form: str) -> bool:
    """Whether a form stands on the list."""
    called, _, inside = form.partition("(")
    if called == "EXTRACT":
        return inside.partition(" ")[0].lower() in vocabulary.parts
    if called == "CAST":
        return vocabulary.to_date
    if called == "DATE '2024-12-31'":
        return vocabulary.timestamps
    return called in vocabulary.functions or called.startswith("'")
