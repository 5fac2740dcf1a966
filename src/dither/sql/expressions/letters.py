"""Lower and upper case: each character by itself, to one character, whatever the locale.

It is Unicode's simple case mapping, with the capital ẞ for ß; a letter whose other case is several characters stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dither.records import recorded
from dither.sql.expressions.base import Textual

_SIMPLE = {"lower": {"\u0130": "i"}, "upper": {"ß": "ẞ"}}


@recorded("Letters", "case", "value")
@dataclass(frozen=True)
class Letters(Textual):
    """The text with all letters in one case."""

    case: Literal["lower", "upper"]
    value: Textual


def lowered(text: str) -> str:
    """A text in lower case.

    >>> lowered("ÉTÉ İ"), uppered("straße ﬁ ᾳ")
    ('été i', 'STRAẞE ﬁ ᾼ')
    """
    return "".join(_simple("lower", one, one.lower()) for one in text)


def uppered(text: str) -> str:
    """A text in upper case."""
    return "".join(_simple("upper", one, one.upper(), one.title()) for one in text)


def _simple(case: str, character: str, *forms: str) -> str:
    return _SIMPLE[case].get(character) or next((form for form in forms if len(form) == 1), character)
