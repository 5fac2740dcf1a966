"""What the relations of a plan take at most to compute, from declarations and the plan alone.

Rows: a table has what it declares, or as many as any table may have. A join on owners makes no more than the rows of
each side times the rows that one owner has on the other, and no more than one side has where each of its rows finds one
row at most. A search (EXISTS, IN) looks at pairs where its condition is more than equalities between the sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from dither.policy.catalog import most_rows
from dither.sql import expressions as e
from dither.sql.bounding.row_flow import Flow, characters, scanned
from dither.sql.guard.facts import facts, most_found
from dither.sql.memo import remembered
from dither.sql.plan.nodes import (
    Filter,
    JoinFull,
    JoinOwner,
    JoinPublic,
    Node,
    OwnerAggregate,
    OwnerLimit,
    OwnerWindow,
    Project,
    PublicAggregate,
    PublicScan,
    Retruncate,
    Scan,
    SemiJoin,
    UnionAll,
)


@remembered
def flow(node: Node) -> Flow:
    """What it takes to compute a relation."""
    return RULES[type(node)](node)


def held(node: Node, used: frozenset[str]) -> int:
    """How many characters of texts are held at once: of the columns in use by the side of a join that is looked up in
    and by rows that are truncated or numbered, and of what is computed to look rows up, to put them together, or to
    tell them apart."""
    found = sum(held(child, used) for child in node.children())
    found += sum(flow(rows).rows * value.longest for rows, value in _looked_up_by(node) if isinstance(value, e.Textual))
    if isinstance(node, (JoinPublic, JoinOwner, JoinFull, SemiJoin)):
        found += _carried(node.public if isinstance(node, JoinPublic) else node.other, used)
    if isinstance(node, (SemiJoin, JoinFull, Retruncate, OwnerWindow)):
        found += _carried(node.child, used)
    if isinstance(node, (OwnerAggregate, PublicAggregate)):
        found += flow(node.child).rows * sum(key.longest for _, key in node.keys if isinstance(key, e.Textual))
    return found


def _looked_up_by(node: Node) -> Iterator[tuple[Node, e.Expression]]:
    """What a node computes for each row of a relation, and holds beside its columns."""
    if isinstance(node, OwnerWindow):
        yield from ((node.child, by) for _, window in node.windows for by in window.partition)
        yield from ((node.child, by) for _, window in node.windows for by, _, _ in window.order)
    if isinstance(node, (OwnerAggregate, PublicAggregate)):
        told_apart = (total.value for _, total in node.totals if total.function == "distinct")
        yield from ((node.child, value) for value in told_apart if value is not None)
    if isinstance(node, (JoinPublic, JoinOwner, JoinFull, SemiJoin)):
        other = node.public if isinstance(node, JoinPublic) else node.other
        columns = facts(other).schema.keys()
        equal = [side for pair in _equalities(node) for side in pair if not isinstance(side, e.StoredText)]
        yield from ((other if _names(side) & columns else node.child, side) for side in equal)


def _equalities(node: JoinPublic | JoinOwner | JoinFull | SemiJoin) -> Iterator[tuple[e.Expression, e.Expression]]:
    """Pairs that a join or a search looks up: columns as they are, which it holds anyway, and what is computed."""
    yield from () if isinstance(node, SemiJoin) else node.equal
    for part in node.condition.operands if isinstance(node.condition, e.And) else (node.condition,):
        if isinstance(part, e.CompareText) and part.operator == "=":
            yield part.left, part.right


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
    left, right, most = flow(node.child), flow(node.public), most_found(node)
    both = left.beside(right, left.rows * most)
    compared = [node.condition, *(side for pair in node.equal for side in pair)]
    found = replace(both, made=both.made + right.rows).computing(compared)
    if most == 1 and node.equal:
        return found
    theirs, met = facts(node.public).total, facts(node).rows or left.rows * most  # all of them are tried out
    looked = 0 if node.equal else left.rows * theirs
    met = met if node.equal else max(met, theirs)
    return replace(found, made=found.made + found.rows, looked=found.looked + looked, met=max(found.met, met))


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


def _join_fully(node: JoinFull) -> Flow:
    left, right = flow(node.child), flow(node.other)
    inner = flow(JoinOwner(node.child, node.other, node.equal, node.condition))
    alone = left.rows + right.rows
    met = facts(node).rows or inner.met + alone
    return replace(inner, rows=inner.rows + alone, made=inner.made + alone + left.rows, met=max(inner.met, met))


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


def _per_owner(node: OwnerAggregate | PublicAggregate) -> Flow:
    known = flow(node.child)
    values = [*(value for _, value in node.keys), *(inner for _, total in node.totals for inner in _parts(total))]
    computed = known.computing(values)
    kept = sum(total.function in ("median", "distinct") for _, total in node.totals)  # all values, until the last row
    return replace(computed, made=computed.made + (1 + kept) * known.rows)


def _parts(total: Any) -> Iterator[e.Expression | None]:
    yield total.value
    yield total.condition


def _truncate(node: Retruncate) -> Flow:
    known = flow(node.child)
    return replace(known, made=known.made + known.rows)


def _windows(node: OwnerWindow) -> Flow:
    known = flow(node.child)
    parts: list[e.Expression | None] = []
    for _, window in node.windows:
        parts += [window.value, *window.partition, *(by for by, _, _ in window.order)]
    return replace(known, made=known.made + len(node.windows) * known.rows).computing(parts)


RULES: dict[type[Node], Callable[[Any], Flow]] = {
    Scan: _scan,
    PublicScan: _scan,
    OwnerLimit: _same,
    Filter: _filter,
    Project: _project,
    JoinPublic: _join_public,
    JoinOwner: _join_owner,
    JoinFull: _join_fully,
    SemiJoin: _semi_join,
    UnionAll: _union,
    OwnerAggregate: _per_owner,
    PublicAggregate: _per_owner,
    Retruncate: _truncate,
    OwnerWindow: _windows,
}
