"""LIKE patterns, checked before any row is read: `%` any run of characters, `_` one character, an escape for both."""

from __future__ import annotations

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


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches a normal pattern, in time at most the product of their lengths."""
    first, *rest = pieces(pattern)
    if not _fits(first, text, 0) or (not rest and len(text) != len(first)):
        return False
    if not rest:
        return True
    position = len(first)
    for piece in rest[:-1]:
        # The leftmost place is as good as any: what follows may lie anywhere after it.
        while not _fits(piece, text, position):
            position += 1
            if position > len(text):
                return False
        position += len(piece)
    return len(text) - len(rest[-1]) >= position and _fits(rest[-1], text, len(text) - len(rest[-1]))


def _fits(piece: list[str | None], text: str, start: int) -> bool:
    if start < 0 or start + len(piece) > len(text):
        return False
    return all(wanted is None or wanted == text[start + i] for i, wanted in enumerate(piece))
