"""LIKE patterns, checked before any row is read: `%` any run of characters, `_` one character, an escape for both."""

from __future__ import annotations

import re

ANY, ONE = "%", "_"
ESCAPE = "\\"
MOST_CHARACTERS = 1_000


class BadPattern(ValueError):
    """The pattern has no meaning; the message says why."""


def normal_pattern(pattern: str, escape: str = ESCAPE) -> str:
    """The same pattern with backslash as its escape, used only where needed.

    >>> normal_pattern("50!%%%", "!")
    '50\\\\%%'
    """
    if len(escape) > 1:
        raise BadPattern(f"ESCAPE takes one character; got {escape[:40]!r}.")
    if len(pattern) > MOST_CHARACTERS:
        raise BadPattern(f"a LIKE pattern has at most {MOST_CHARACTERS} characters; got {len(pattern)}.")
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            literal = next(characters, None)
            if literal is None:
                raise BadPattern(f"the LIKE pattern ends with its escape character {escape!r}.")
            parts.append(ESCAPE + literal if literal in (ANY, ONE, ESCAPE) else literal)
        elif character == ANY:
            if parts[-1:] != [ANY]:
                parts.append(ANY)
        else:
            parts.append(ESCAPE * 2 if character == ESCAPE else character)
    return "".join(parts)


def pieces(pattern: str) -> list[list[str | None]]:
    """A normal pattern cut at its `%`: each piece a list of characters, None for `_`."""
    cut: list[list[str | None]] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == ANY:
            cut.append([])
        else:
            cut[-1].append(next(characters) if character == ESCAPE else None if character == ONE else character)
    return cut


def compiled(pattern: str, *, any_case: bool = False) -> re.Pattern[str]:
    """What `match`es the texts of a normal pattern, in time at most their length times `longest_search`."""
    first, *rest = [_regular(piece, any_case) for piece in pieces(pattern)]
    if not rest:
        return re.compile(first + r"\Z", re.DOTALL)
    # A piece is taken where it is first found and never given back: what follows may lie anywhere after it.
    middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1])
    length = len(pieces(pattern)[-1])
    end = f"(?=.{{{length}}}).*+(?<={rest[-1]})" if length else ""
    return re.compile(first + middle + end, re.DOTALL)


def cases(character: str) -> str:
    """A character with its lower and upper case, each a single character: what it matches in ILIKE.

    >>> cases("k"), cases("5"), cases("ß")
    ('Kk', '5', 'ß')
    """
    forms = {character, character.lower(), character.upper()}
    return "".join(sorted(form for form in forms if len(form) == 1))


def longest_search(pattern: str) -> int:
    """How often a character of a text may be looked at: the length of the longest piece that has no fixed place."""
    return max((len(piece) for piece in pieces(pattern)[1:-1]), default=1)


def _regular(piece: list[str | None], any_case: bool) -> str:
    return "".join("." if one is None else _any_of(cases(one) if any_case else one) for one in piece)


def _any_of(characters: str) -> str:
    escaped = "".join(map(re.escape, characters))
    return escaped if len(characters) == 1 else f"[{escaped}]"
