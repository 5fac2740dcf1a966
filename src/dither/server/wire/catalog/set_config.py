"""SELECT set_config(name, value, local): SET as a function. It sets when it is run, never when it is described."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dither.server.wire.catalog.rewriting import parsed
from dither.server.wire.command import Word
from dither.server.wire.results import Outcome, text_rows
from dither.server.wire.settings import OFF, ON
from dither.server.wire.sqlstates import WireError
from dither.server.wire.statements import Statement, Written

if TYPE_CHECKING:
    from dither.server.wire.connection import Connection

_NAME = "set_config"


def set_config(connection: Connection, statement: Statement, written: Written) -> Word | None:
    """The command, if the query is calls of this function and nothing else."""
    if _NAME.upper() not in statement.words:
        return None
    tree = parsed(written.text)
    if tree is None or {name for name, value in tree.args.items() if value} != {"expressions"}:
        return None
    calls = [_call(one) for one in tree.expressions]
    if not all(calls):
        return None
    names = tuple(one.alias or _NAME for one in tree.expressions)
    return Word(connection, statement, written, lambda: _run(connection, names, calls), names)


def _call(column: exp.Expression) -> Sequence[Any] | None:
    """The three arguments of a call, if they are values."""
    called = column.this if isinstance(column, exp.Alias) else column
    if isinstance(called, exp.Dot) and called.this.name.lower() == "pg_catalog":
        called = called.expression
    plain = isinstance(called, exp.Anonymous) and str(called.this).lower() == _NAME and len(called.expressions) == 3
    values = called.expressions if plain else ()
    return values if all(isinstance(one, (exp.Literal, exp.Boolean, exp.Null)) for one in values) else None


def _run(connection: Connection, names: Sequence[str], calls: Sequence[Any]) -> Outcome:
    shown: list[str | None] = []
    for name, value, local in calls:
        stated = str(local.this).lower()
        if isinstance(name, exp.Null) or stated not in (*ON, *OFF):
            raise WireError("22023", "set_config takes a name, a value, and whether it is for the block alone.")
        key, inside = name.name.lower(), stated in ON
        if not inside or connection.block.state != "I":  # outside a block there is nothing that it would last for
            connection.settings.set(key, None if isinstance(value, exp.Null) else value.name, local=inside)
            connection.report(key)
        shown.append(connection.settings.show(key))
    return Outcome("SELECT", text_rows(names, [shown]))
