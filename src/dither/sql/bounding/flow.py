"""What the relations of a plan take at most to compute, from declarations and the plan alone.

Rows: a table has what it declares, or as many as any table may have. A join on owners makes no more than the rows of
each side times the rows that one owner has on the other, and no more than one side has where each of its rows finds one
row at most. A search (EXISTS, IN) looks at pairs where its condition is more than equalities between the sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from dither.policy.catalog import most_rows
from dither.sql import expressions as e
from dither.sql.guard.facts import facts
from dither.sql.memo import remembered
from dither.sql.plan.nodes import (
    Filter,
    JoinOwner,
    JoinPublic,
    Node,
    OwnerAggregate,
    OwnerLimit,
    Project,
    PublicScan,
    Retruncate,
    Scan,
    SemiJoin,
    UnionAll,
)
from dither.sql.text import patterns

# What a character costs, in characters, where all places at which a piece of a pattern may have begun are followed.
_FOLLOWED, _FOLLOWED_EACH = 2_000, 6
_COMPUTED = (e.Joined, e.Substring, e.Trim, e.TextCase, e.TextCoalesce)


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


@remembered
def flow(node: Node) -> Flow:
    """What it takes to compute a relation."""
    return RULES[type(node)](node)


def held(node: Node, used: frozenset[str]) -> int:
    """How many characters of the columns in use are held at once: by the side of a join that is looked up in, by rows
    that are truncated, and by keys of totals."""
    found = sum(held(child, used) for child in node.children())
    if isinstance(node, (JoinPublic, JoinOwner, SemiJoin)):
        found += _carried(node.public if isinstance(node, JoinPublic) else node.other, used)
    if isinstance(node, (SemiJoin, Retruncate)):
        found += _carried(node.child, used)
    if isinstance(node, OwnerAggregate):
        found += flow(node.child).rows * sum(key.longest for _, key in node.keys if isinstance(key, e.Textual))
    return found


def _carried(node: Node, used: frozenset[str]) -> int:
    columns = [column for name, column in facts(node).schema.items() if name in used]
    return flow(node).rows * sum(column.longest for column in columns if isinstance(column, e.Textual))


def _scan(node: Scan | PublicScan) -> Flow:
    rows = most_rows(node.table)
    return Flow(rows, rows)


def _same(node: OwnerLimit) -> Flow:
    return flow(node.child)


def _filter(node: Filter) -> Flow:
    return flow(node.child).computing([node.predicate])


def _project(node: Project) -> Flow:
    return flow(node.child).computing([value for _, value in node.columns])


def _join_public(node: JoinPublic) -> Flow:
    left, right = flow(node.child), flow(node.public)
    both = left.beside(right, left.rows)
    compared = [node.condition, *(side for pair in node.equal for side in pair)]
    return replace(both, made=both.made + right.rows).computing(compared)


def _join_owner(node: JoinOwner) -> Flow:
    left, right = flow(node.child), flow(node.other)
    mine, theirs = facts(node.child), facts(node.other)
    agreed = [{side.name for side in sides if isinstance(side, (e.Stored, e.StoredText))} for sides in _sides(node)]
    pairs = _pairs(left.rows, mine.rows, right.rows, theirs.rows)
    if theirs.distinct is not None and theirs.distinct <= agreed[1]:
        pairs = min(pairs, left.rows)
    if mine.distinct is not None and mine.distinct <= agreed[0]:
        pairs = min(pairs, right.rows)
    rows = pairs + left.rows if node.outer else pairs
    both = left.beside(right, rows)
    met = facts(node).rows or pairs
    made = both.made + rows + right.rows
    compared = [node.condition, *(side for sides in _sides(node) for side in sides)]
    return replace(both, made=made, met=max(both.met, met)).computing(compared)


def _sides(node: JoinOwner) -> tuple[tuple[e.Expression, ...], tuple[e.Expression, ...]]:
    return tuple(mine for mine, _ in node.equal), tuple(other for _, other in node.equal)


def _pairs(left: int, mine: int | None, right: int, theirs: int | None) -> int:
    """Pairs of rows of one owner, if owners have at most so many rows on either side (None: any number)."""
    return min(left * (right if theirs is None else theirs), right * (left if mine is None else mine))


def _semi_join(node: SemiJoin) -> Flow:
    left, right = flow(node.child), flow(node.other)
    found = left.beside(right, left.rows)
    condition = replace(found, made=found.made + left.rows + right.rows).computing([node.condition])
    if node.condition is None or looked_up(node):
        return condition
    mine, theirs = facts(node.child), facts(node.other)
    if not theirs.private:
        met, pairs = right.rows, left.rows * right.rows
    else:
        pairs = _pairs(left.rows, mine.rows, right.rows, theirs.rows)
        met = pairs if mine.rows is None or theirs.rows is None else mine.rows * theirs.rows
    matched = scanned(node.condition)
    return replace(
        condition,
        looked=condition.looked + pairs,
        met=max(condition.met, met),
        steps=condition.steps + pairs * node.condition.size,
        written=condition.written + pairs * characters(node.condition),
        scanned=condition.scanned + pairs * matched,
        matched=condition.matched + -(-pairs // max(1, left.rows)) * matched,
    )


def looked_up(node: SemiJoin) -> bool:
    """Whether all that is asked of two rows together are equalities, which are looked up and not tried out."""
    condition, left, right = node.condition, set(facts(node.child).schema), set(facts(node.other).schema)
    if condition is None:
        return True
    parts = condition.operands if isinstance(condition, e.And) else (condition,)
    for part in parts:
        names = _names(part)
        if not (names & left and names & right):
            continue
        if not (isinstance(part, (e.Compare, e.CompareText)) and part.operator == "="):
            return False
        sides = _names(part.left), _names(part.right)
        if any(side & left and side & right for side in sides):
            return False
    return True


def _names(value: e.Expression) -> set[str]:
    return {inner.name for inner in value.walk() if isinstance(inner, (e.Stored, e.StoredText))}


def _union(node: UnionAll) -> Flow:
    parts = [flow(part) for part in node.parts]
    put = parts[0]
    for part in parts[1:]:
        both = put.beside(part, put.rows + part.rows)
        most = {"characters": max(put.characters, part.characters), "matched": max(put.matched, part.matched)}
        put = replace(both, **most)
    return put


def _per_owner(node: OwnerAggregate) -> Flow:
    known = flow(node.child)
    values = [*(value for _, value in node.keys), *(inner for _, total in node.totals for inner in _parts(total))]
    computed = known.computing(values)
    return replace(computed, made=computed.made + known.rows)


def _parts(total: Any) -> Iterator[e.Expression | None]:
    yield total.value
    yield total.condition


def _truncate(node: Retruncate) -> Flow:
    known = flow(node.child)
    return replace(known, made=known.made + known.rows)


RULES: dict[type[Node], Callable[[Any], Flow]] = {
    Scan: _scan,
    PublicScan: _scan,
    OwnerLimit: _same,
    Filter: _filter,
    Project: _project,
    JoinPublic: _join_public,
    JoinOwner: _join_owner,
    SemiJoin: _semi_join,
    UnionAll: _union,
    OwnerAggregate: _per_owner,
    Retruncate: _truncate,
}
