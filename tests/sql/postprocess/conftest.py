"""SELECTs bound after the noise, over keys and outputs made up for the purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres

from dither.errors import UnsupportedQuery
from dither.policy.columns import Bool, Category, Date, Int, Text, Timestamp
from dither.sql.binding.answer_clauses import Selected, bind_after
from dither.sql.expressions import Stored, StoredText
from dither.sql.plan.aggregates import Aggregator, Average, Count, Sum
from dither.sql.plan.question import GroupKey, Output, Shown
from dither.sql.text.source import Source

KEYS = {
    "region": (Category(["south", "north", "east"]), pa.string()),
    "note": (Text(), pa.string()),
    "age": (Int(0, 2**62), pa.int64()),
    "insured": (Bool(), pa.bool_()),
    "day": (Date("2000-01-01", "2030-12-31"), pa.date32()),
    "seen": (Timestamp("2000-01-01", "2030-12-31"), pa.timestamp("us", "UTC")),
}


def source(text: str) -> Source:
    return Source(text, tuple(Postgres().tokenize(text)))


def parsed(text: str) -> exp.Select:
    tree = Postgres().parser().parse(list(source(text).tokens), text)[0]
    assert isinstance(tree, exp.Select)
    return tree


def aggregate(node: exp.Expr) -> Aggregator:
    """COUNT(*), SUM(x) and AVG(x) of any x."""
    if isinstance(node, exp.Count):
        return Count()
    if isinstance(node, (exp.Sum, exp.Avg)):
        column = Stored(node.this.name, 0, 100, 0, False)
        return Sum(column) if isinstance(node, exp.Sum) else Average(column)
    raise UnsupportedQuery("no such aggregate")


def selected(text: str, tree: exp.Select) -> Selected:
    """Every key that the query groups by, and the select items over them."""
    group = tree.args.get("group")
    names = [node.name for node in group.expressions] if group else []
    keys = [GroupKey(name, _code(name), KEYS[name][0]) for name in names]
    outputs: list[Output] = []
    order = []
    for item in tree.expressions:
        node = item.unalias()
        if isinstance(node, exp.Column) and node.name in names:
            order.append(Shown("key", names.index(node.name)))
        else:
            order.append(Shown("output", len(outputs)))
            outputs.append(Output(item.alias or "count", aggregate(node)))

    def key_at(node: exp.Expr) -> int | None:
        if not isinstance(node, exp.Column):
            raise UnsupportedQuery("no such key")
        return names.index(node.name.lower()) if node.name.lower() in names else None

    return Selected(source(text), outputs, keys, order, key_at, aggregate)


def _code(name: str) -> Any:
    return StoredText(name, True, 1000) if name == "note" else Stored(name, 0, 100, 0, True)


@pytest.fixture(scope="session")
def after() -> Callable[[str], Any]:
    """The After of a query, and its hidden outputs."""

    def bind(text: str) -> Any:
        tree = parsed(text)
        return bind_after(tree, selected(text, tree))

    return bind


@pytest.fixture(scope="session")
def key_types() -> dict[str, pa.DataType]:
    return {name: kind for name, (_, kind) in KEYS.items()}
