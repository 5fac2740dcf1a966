"""From syntax to what is done after the noise: names are aliases, grouped columns and aggregates, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.columns import Category, Column
from dither.sql.binding.formula_kinds import Bound, is_formula, kind_of, part_bound
from dither.sql.binding.formula_syntax import Binder
from dither.sql.plan.aggregates.aggregator import Aggregator
from dither.sql.plan.question import GroupKey, Output, Shown
from dither.sql.postprocess.formulas import terms
from dither.sql.postprocess.row_choice import After, Sorting
from dither.sql.text.collations import check_order
from dither.sql.text.source import Source
from dither.sql.text.subtree import subtree

CLAUSES = ("having", "order", "limit", "offset")
MOST_ROWS = 10**9


@dataclass(frozen=True)
class Selected:
    """What the select list has made of a query: outputs, keys under their shown names, and the order of both.

    `key_at` says which key a piece of syntax without aggregates is, None if it is none. `aggregate_of` binds one
    aggregate call.
    """

    source: Source
    outputs: Sequence[Output]
    keys: Sequence[GroupKey]
    order: Sequence[Shown]
    key_at: Callable[[exp.Expr], int | None]
    aggregate_of: Callable[[exp.Expr], Aggregator]


def bind_after(select: exp.Select, selected: Selected) -> tuple[After | None, tuple[Output, ...]]:
    """What a SELECT does after the noise, and the outputs needed for it alone: computed and paid, but not shown."""
    only_outside(select, selected.source)
    if not any(select.args.get(clause) for clause in CLAUSES):
        return None, ()
    binder = _binder(selected)
    having, order = select.args.get("having"), select.args.get("order")
    after = After(
        None if having is None else binder.condition(having.this),
        () if order is None else tuple(_sorting(item, binder, selected) for item in order.expressions),
        _offset(select.args.get("offset"), selected.source),
        _limit(select.args.get("limit"), selected.source),
    )
    hidden = binder.parts[len(selected.outputs) :]
    return after, tuple(Output(f"not shown {place}", part) for place, part in enumerate(hidden, 1))


def only_outside(select: exp.Select, source: Source) -> None:
    """Inside a subquery these clauses would act on exact values; HAVING of owners' totals is another matter."""
    for inner in subtree(select)[1:]:
        for clause in CLAUSES[1:] if isinstance(inner, exp.Query) else ():
            node = inner.args.get(clause)
            if node:
                word = {"order": "ORDER BY"}.get(clause, clause.upper())
                raise source.refusal(
                    node, f"{word} cannot stand in a subquery.", "Write it at the end of the whole query."
                )


def _binder(selected: Selected) -> Binder:
    binder = Binder(selected.source, selected.aggregate_of, lambda node: _named(node, selected))
    binder.parts += [output.aggregate for output in selected.outputs]
    binder.names = tuple(_shown(selected))
    return binder


def _shown(selected: Selected) -> dict[str, Shown]:
    """What each shown column is, by its name."""
    found: dict[str, Shown] = {}
    for shown in selected.order:
        columns: Sequence[Any] = selected.keys if shown.kind == "key" else selected.outputs
        found.setdefault(columns[shown.index].name, shown)
    return found


def _named(node: exp.Expr, selected: Selected, *, alias_first: bool = False) -> Bound | None:
    """A grouped column or expression, or a column of the answer. ORDER BY looks at the answer first, as SQL does."""
    if isinstance(node, (exp.Literal, exp.Boolean, exp.Null, exp.Cast)) or is_formula(node):
        return None
    alias = _alias(node, selected)
    if alias_first and alias is not None:
        return alias
    try:
        place = selected.key_at(node)
    except UnsupportedQuery:
        place = None
    return alias if place is None else _key(place, selected)


def _alias(node: exp.Expr, selected: Selected) -> Bound | None:
    if not isinstance(node, exp.Column) or node.table:
        return None
    names = _shown(selected)
    shown = names.get(node.name) or {name.lower(): shown for name, shown in names.items()}.get(node.name.lower())
    if shown is None:
        return None
    if shown.kind == "key":
        return _key(shown.index, selected)
    return part_bound(shown.index, selected.outputs[shown.index].aggregate)


def _key(place: int, selected: Selected) -> Bound:
    return key_bound(place, selected.keys[place].declaration)


def key_bound(place: int, declaration: Column) -> Bound:
    """The key at a place, as what its declaration makes of it."""
    kind, number = kind_of(declaration), terms.KeyNumber(place)
    if kind == "boolean":
        return Bound(kind, number, key=place, condition=terms.Compare("=", number, terms.Number(1)))
    labels = declaration.values if isinstance(declaration, Category) else ()
    return Bound(kind, None if kind == "text" else number, key=place, labels=labels)


def _sorting(item: exp.Expr, binder: Binder, selected: Selected) -> Sorting:
    node = item.this.unnest()
    descending, nulls_first = bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
    if isinstance(node, exp.Literal):
        shown = _numbered(node, selected)
        if shown.kind == "key":
            _check_order(node, shown.index, selected)
        by = shown.index if shown.kind == "key" else terms.Part(shown.index)
        return Sorting(by, descending, nulls_first)
    bound = _named(node, selected, alias_first=True) or binder.bound(node)
    if bound.key is not None:
        _check_order(node, bound.key, selected)
        return Sorting(bound.key, descending, nulls_first)
    if bound.term is None:
        hint = "Order by a column of the answer, its number, or an aggregate."
        raise selected.source.refusal(node, "this cannot be ordered by.", hint)
    return Sorting(bound.term, descending, nulls_first)


def _check_order(node: exp.Expr, key: int, selected: Selected) -> None:
    declaration = selected.keys[key].declaration
    if isinstance(declaration, Category):
        check_order(selected.source, node, declaration.values)


def _numbered(node: exp.Expr, selected: Selected) -> Shown:
    text = str(node.this)
    number = not node.args.get("is_string") and text.isascii() and text.isdigit() and len(text) < 6
    place = int(text) if number else 0
    if not 0 < place <= len(selected.order):
        hint = f"Write a number from 1 to {len(selected.order)}, or a name."
        raise selected.source.refusal(node, "there is no select item of that number.", hint)
    return selected.order[place - 1]


def _limit(clause: exp.Expr | None, source: Source) -> int | None:
    if clause is None:
        return None
    if isinstance(clause, exp.Fetch):
        options = clause.args.get("limit_options")
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            raise source.refusal(clause, "FETCH takes a number of rows only.", "Write FETCH FIRST 10 ROWS ONLY.")
        count = clause.args.get("count")
        return 1 if count is None else _whole(count, "FETCH FIRST", source)
    return _whole(clause.expression, "LIMIT", source)


def _offset(clause: exp.Expr | None, source: Source) -> int:
    return 0 if clause is None else _whole(clause.expression, "OFFSET", source)


def _whole(node: exp.Expr, word: str, source: Source) -> int:
    if isinstance(node, exp.Cast) and node.to.sql() in ("INT", "BIGINT"):
        node = node.this  # as drivers write a parameter
    text = str(node.this) if isinstance(node, exp.Literal) and not node.args.get("is_string") else ""
    if not (text.isascii() and text.isdigit() and int(text[:12]) <= MOST_ROWS and len(text) < 12):
        what = f"{word} takes a whole number of rows from 0 to {MOST_ROWS}."
        raise source.refusal(node, what, f"Write {word} 10, or leave it out.")
    return int(text)
