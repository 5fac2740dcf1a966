"""Names as an analyst would write them, and the declared one that a misspelt name was probably meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from dither.errors import PolicyError

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED_WORDS = (
    "all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate "
    "collation column concurrently constraint create cross current_catalog current_date current_role "
    "current_schema current_time current_timestamp current_user default deferrable desc distinct do else end "
    "except false fetch for foreign freeze from full grant group having ilike in initially inner intersect "
    "into is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null "
    "offset on only or order outer overlaps placing primary references returning right select session_user "
    "similar some symmetric table tablesample then to trailing true union unique user using variadic verbose "
    "when where window with"
)
_RESERVED = frozenset(_RESERVED_WORDS.split(" "))
_MOST_SCHEMA = 63
_MOST_LISTED, _MOST_COMPARED, _MOST_LETTERS = 24, 500, 40


def quoted(name: str) -> str:
    """The name as a query can hold it: in double quotes where letters or reserved words ask for them.

    >>> quoted("age"), quoted("Patient ID"), quoted("order")
    ('age', '"Patient ID"', '"order"')
    """
    if _BARE.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def schema_name(name: object) -> str:
    """A name that may stand before those of tables, or PolicyError."""
    if not isinstance(name, str) or not _BARE.fullmatch(name) or len(name) > _MOST_SCHEMA:
        what = f"a schema is a name of 1 to {_MOST_SCHEMA} letters, digits and underscores, and begins with no digit"
        raise PolicyError(f"{what}; got {str(name)[:80]!r}.")
    return name


def listed(names: Iterable[str]) -> str:
    """The names as they are written, a few dozen of them at most."""
    found = [quoted(name) for name in names]
    return ", ".join(found[:_MOST_LISTED]) + (", ..." if len(found) > _MOST_LISTED else "") or "none"


def meant(wanted: str, names: Iterable[str]) -> str:
    """The name closest to a misspelt one, as a question; nothing if none is close. Looks at declared names alone.

    >>> meant("vists", ["visits", "patients"])
    'Did you mean visits?'
    """
    known = {name.lower()[:_MOST_LETTERS]: name for name in list(names)[:_MOST_COMPARED]}
    near = difflib.get_close_matches(wanted.lower()[:_MOST_LETTERS], known, n=1)
    return f"Did you mean {quoted(known[near[0]])}?" if near else ""
