"""How many characters a value takes to compute: those that are written, and those that are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from dither.sql import expressions as e
from dither.sql import patterns

# What a character costs, in characters, where all places at which a piece of a pattern may have begun are followed.
_FOLLOWED, _FOLLOWED_EACH = 2_000, 6
_COMPUTED = (e.Joined, e.Substring, e.Trim, e.TextCase, e.TextCoalesce)


def longest(node: e.Expression, lengths: Mapping[str, int]) -> int:
    """How many characters a text can have, the columns that it is made of having at most so many."""
    if isinstance(node, e.StoredText):
        return lengths.get(node.name, e.LONGEST)
    if isinstance(node, e.TextConstant):
        return len(node.value)
    inner = [longest(child, lengths) for child in node.children() if isinstance(child, e.Textual)]
    if isinstance(node, e.Joined):
        return sum(inner)
    return min(node.length, *inner) if isinstance(node, e.Substring) else max(inner, default=0)


def characters(value: e.Expression, lengths: Mapping[str, int]) -> int:
    """How many characters are written to compute a value, those of all texts on the way.

    Texts are joined one after the other, so that each beginning of the whole is written too.
    """
    found = 0
    for inner in value.walk():
        if isinstance(inner, e.Joined):
            found += sum(list(accumulate(longest(part, lengths) for part in inner.values))[1:])
        elif isinstance(inner, _COMPUTED):
            found += longest(inner, lengths)
    return found


def scanned(value: e.Expression, lengths: Mapping[str, int]) -> int:
    """How many characters are looked at to compute a value."""
    found = 0
    for inner in value.walk():
        if not isinstance(inner, e.Textual):
            read = sum(longest(child, lengths) for child in inner.children() if isinstance(child, e.Textual))
            found += read * (_matching(inner.pattern) if isinstance(inner, (e.Like, e.ILike)) else 1)
    return found


def _matching(pattern: str) -> int:
    """How often each character is looked at: for a pattern's pieces, eight of them at once at every place.

    A piece that may begin anywhere and has `_` in it can have begun at many places at once. An engine keeps a state for
    each set of them, and where those are too many to keep it follows all of them at every character.
    """
    _, *floating = patterns.pieces(pattern)
    open_ = [len(piece) for piece in floating if None in piece]
    sets = min(2 ** min(max(open_), 62), _FOLLOWED + _FOLLOWED_EACH * len(pattern)) if open_ else 0
    return 1 + len(pattern) // 8 + sets
