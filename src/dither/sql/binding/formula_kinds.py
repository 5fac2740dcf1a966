"""What a piece of syntax over aggregates stands for: a number, a day, a moment, a condition, or text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from dither.policy.columns import Column
from dither.sql.plan.aggregates.aggregator import Aggregator
from dither.sql.postprocess.formulas import terms
from dither.sql.postprocess.formulas.terms import Condition, Term
from dither.sql.text.subtree import subtree

Kind = Literal["number", "date", "timestamp", "boolean", "text"]
_AGGREGATES = (exp.AggFunc, exp.Filter, exp.WithinGroup)


@dataclass(frozen=True)
class Bound:
    """A piece of syntax: its kind, and the term for it; text is a key's place and labels, or a literal."""

    kind: Kind
    term: Term | None = None
    key: int | None = None
    literal: str | None = None
    condition: Condition | None = None
    labels: tuple[str, ...] = ()  # that a key's text can be


def kind_of(declaration: Column | None) -> Kind:
    """What values of a declaration are compared as; without one they are numbers."""
    if declaration is None:
        return "number"
    return "timestamp" if declaration.shown == "local" else declaration.shown


def part_bound(place: int, aggregate: Aggregator) -> Bound:
    """The aggregate at a place; a value that it chooses, such as MIN(day), is of the kind of its declaration."""
    return Bound(kind_of(getattr(aggregate, "declared", None)), terms.Part(place))


def is_aggregate(node: exp.Expr) -> bool:
    """Whether this is one aggregate call: COUNT, SUM, ... with FILTER or WITHIN GROUP, OWNER_SUM or OWNER_COUNT."""
    return isinstance(node, _AGGREGATES) or (isinstance(node, exp.Anonymous) and node.name.upper().startswith("OWNER_"))


def is_formula(node: exp.Expr) -> bool:
    """Whether this computes with aggregates: it has one inside, and is none itself."""
    return not is_aggregate(node) and any(map(is_aggregate, subtree(node)))
