"""TOML with bounded nesting and bounded words, both measured before the parser sees them."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from typing import Any, NoReturn

from dither.errors import PolicyError

MOST_LEVELS = 20  # of tables, lists and dotted names
LONGEST_WORD = 200  # characters of a number or of a name without quotation marks

_WORD = re.compile(r"[A-Za-z0-9_+:-]+")
_OPEN, _CLOSE = "[{", "]}"


def read_toml(text: str) -> dict[str, Any]:
    """The values of a text; numbers with a point are Decimals, as written."""
    _measure(text)
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError, OverflowError) as error:  # a TOMLDecodeError is a ValueError
        raise PolicyError(f"{error}.") from None


def _measure(text: str) -> None:
    """Refuse deep nesting, long dotted names and long numbers in one pass; strings and comments are skipped."""
    place, depth, dots = 0, 0, 0
    while place < len(text):
        character = text[place]
        if character in "\"'":
            place = _after_string(text, place, character)
            continue
        if character == "#":
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
            continue
        word = _WORD.match(text, place)
        if word is not None:
            if word.end() - place > LONGEST_WORD:
                _wrong(text, place, f"a number or name of {word.end() - place:,} characters; at most {LONGEST_WORD}")
            place = word.end()
            continue
        depth = depth + (character in _OPEN) - (character in _CLOSE and depth > 0)
        dots = dots + 1 if character == "." else dots if character in " \t" else 0
        if depth > MOST_LEVELS or dots > MOST_LEVELS:
            _wrong(text, place, f"nested deeper than {MOST_LEVELS} levels")
        place += 1


def _after_string(text: str, start: int, quote: str) -> int:
    """The place after a string; the end of the text if it has no end, which the parser refuses."""
    mark = quote * 3 if text.startswith(quote * 3, start) else quote
    place = start + len(mark)
    while True:
        end = text.find(mark, place)
        if end < 0 or (len(mark) == 1 and "\n" in text[place:end]):
            return len(text) if end < 0 else text.index("\n", place)
        slashes = len(text[place:end]) - len(text[place:end].rstrip("\\"))
        if quote == "'" or slashes % 2 == 0:
            end += len(mark)
            more = text[end : end + 2] if len(mark) == 3 else ""  # up to two quotes may stand before the three that end
            return end + len(more) - len(more.lstrip(quote))
        place = end + 1


def _wrong(text: str, place: int, what: str) -> NoReturn:
    line = text.count("\n", 0, place) + 1
    raise PolicyError(f"{what} (line {line}).")
