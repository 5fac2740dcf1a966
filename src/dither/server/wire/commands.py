"""What a statement is: a question, a look into the catalog, or a word to the connection itself.

Every command can say which columns it will have, for which nothing is ever charged, and can be run once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dither.answer.shape import OutputColumn
from dither.escape import shortened
from dither.server.wire import blocks, setting_commands
from dither.server.wire.catalog.set_config import set_config
from dither.server.wire.command import Command, Word, moved
from dither.server.wire.portal import check_room
from dither.server.wire.results import Columns, Outcome, RowColumn, Rows, columns_of, text_rows
from dither.server.wire.sqlstates import WireError, in_settings
from dither.server.wire.statements import Statement, Written
from dither.server.wire.value_types import TEXT, ValueType

if TYPE_CHECKING:
    from dither.server.wire.connection import Connection

QUERIES = ("SELECT", "WITH", "VALUES", "TABLE", "(")


@dataclass
class Question(Command):
    """Asked and paid for when it is run."""

    _shape: tuple[OutputColumn, ...] | None = None
    _intervals: bool | None = None

    def columns(self) -> Columns | None:
        self._intervals = self.connection.asking.intervals
        self._shape = self.connection.asking.shape(self.written.text)
        return columns_of(self._shape, intervals=self._intervals)

    def run(self) -> Outcome:
        check_room(self.connection)
        asking = self.connection.asking
        intervals = asking.intervals if self._intervals is None else self._intervals
        return Outcome("SELECT", asking.ask(self.written.text, self._shape, intervals=intervals))


@dataclass
class CatalogQuery(Command):
    """Answered from declarations alone; run once, when its columns or its rows are asked for."""

    _rows: Rows | None = None

    def columns(self) -> Columns | None:
        return self._found().columns

    def run(self) -> Outcome:
        return Outcome("SELECT", self._found())

    def _found(self) -> Rows:
        if self._rows is None:
            check_room(self.connection)
            self._rows = self.connection.look_up(self.written.text)
        return self._rows


@dataclass
class Explain(Command):
    """The price of a question and the error to expect, as lines or as JSON."""

    json: bool = False

    def columns(self) -> Columns | None:
        return (RowColumn("QUERY PLAN", ValueType(TEXT)),)

    def run(self) -> Outcome:
        found = self.connection.asking.explain(self.written.text)
        lines = [found.to_json()] if self.json else in_settings(str(found)).split("\n")
        return Outcome("EXPLAIN", text_rows(["QUERY PLAN"], [[line] for line in lines]), counted=False)


def plain_command(connection: Connection, statement: Statement, written: Written) -> Command:
    """The command that a statement is, but for cursors; whatever is none that is known here is refused."""
    first = statement.first
    if first in QUERIES:
        if connection.in_catalog(written.text):
            return set_config(connection, statement, written) or CatalogQuery(connection, statement, written)
        return Question(connection, statement, written)
    if first == "EXPLAIN":
        return _explain(connection, statement, written)
    work: Any = blocks.COMMANDS.get(first) or setting_commands.COMMANDS.get(first)
    if work is not None:
        if statement.parameters:
            raise WireError("0A000", f"{first} takes no parameters.")
        return Word(
            connection, statement, written, lambda: work(connection, statement), setting_commands.shows(statement)
        )
    raise WireError(
        "0A000",
        f"{shortened(first, 40)} is not supported.",
        hint="Questions begin with SELECT.",
        at=statement.tokens[0].start,
    )


def _explain(connection: Connection, statement: Statement, written: Written) -> Explain:
    """EXPLAIN, with FORMAT among its options; ANALYZE would run the question."""
    words, place, json = statement.words, 1, False
    if words[1:2] == ("(",):
        place = words.index(")") + 1 if ")" in words else len(words)
        json = "JSON" in words[1:place]
    while words[place : place + 1] == ("VERBOSE",):
        place += 1
    if "ANALYZE" in words[1 : place + 1] or "ANALYSE" in words[1 : place + 1]:
        raise WireError("0A000", "EXPLAIN ANALYZE would run the question.", hint="EXPLAIN shows price and error.", at=0)
    if words[place : place + 1] not in tuple((word,) for word in QUERIES):
        raise WireError("42601", "EXPLAIN is followed by a question.", at=0)
    inner = moved(written, statement.tokens[place].start)
    if connection.in_catalog(inner.text):
        raise WireError("0A000", "the catalog is free to read and has no price.", at=0)
    return Explain(connection, statement, inner, json)
