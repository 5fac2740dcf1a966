"""Bounds on what flows through a relation: rows, and the characters and words that are computed for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate

from dither.sql import expressions as e
from dither.sql.text import patterns

# What a character costs, in characters, where all places at which a piece of a pattern may have begun are followed.
_FOLLOWED, _FOLLOWED_EACH = 2_000, 6
_COMPUTED = (e.Joined, e.Substring, e.Ending, e.SplitPart, e.Trim, e.Letters, e.TextCase, e.TextCoalesce)


@dataclass(frozen=True)
class Flow:
    """Upper bounds. `rows` come out, `read` are read from tables, and `made` are made or held by joins, truncations and
    totals on the way; `looked` pairs of rows are looked at. `met` are the rows of one owner that one join makes, or
    looks at, before anything limits them.

    `characters` are computed of texts for one row, `written` for all rows, for which `scanned` are compared and
    matched, `matched` of them for one row. `steps` are the words of expressions, evaluated for all rows.
    """

    rows: int
    read: int
    made: int = 0
    looked: int = 0
    met: int = 0
    characters: int = 0
    written: int = 0
    scanned: int = 0
    matched: int = 0
    steps: int = 0

    def computing(self, values: Iterable[e.Expression | None]) -> Flow:
        """With these expressions evaluated for each of its rows."""
        known = [value for value in values if value is not None]
        texts, matched = sum(map(characters, known)), sum(map(scanned, known))
        return replace(
            self,
            characters=self.characters + texts,
            written=self.written + self.rows * texts,
            scanned=self.scanned + self.rows * matched,
            matched=self.matched + matched,
            steps=self.steps + self.rows * sum(value.size for value in known),
        )

    def beside(self, other: Flow, rows: int) -> Flow:
        """Both, with so many rows of which each has the columns of both."""
        return Flow(
            rows,
            self.read + other.read,
            self.made + other.made,
            self.looked + other.looked,
            max(self.met, other.met),
            self.characters + other.characters,
            self.written + other.written,
            self.scanned + other.scanned,
            self.matched + other.matched,
            self.steps + other.steps,
        )


def characters(value: e.Expression) -> int:
    """How many characters are written to compute a value, those of all texts on the way.

    Texts are joined one after the other, so that each beginning of the whole is written too.
    """
    found = 0
    for inner in value.walk():
        if isinstance(inner, e.Joined):
            found += sum(list(accumulate(part.longest for part in inner.values))[1:])
        elif isinstance(inner, _COMPUTED):
            found += inner.longest
    return found


def scanned(value: e.Expression) -> int:
    """How many characters are looked at to compute a value."""
    found = 0
    for inner in value.walk():
        if not isinstance(inner, e.Textual):
            read = sum(child.longest for child in inner.children() if isinstance(child, e.Textual))
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
