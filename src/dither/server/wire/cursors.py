"""DECLARE and FETCH: portals by the words of SQL. A cursor reads the stored answer, which is paid for once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dither.server.wire.command import Command, moved
from dither.server.wire.commands import plain_command
from dither.server.wire.portal import Portal, open_portal
from dither.server.wire.results import Columns, Outcome, Rows
from dither.server.wire.sqlstates import WireError
from dither.server.wire.statements import Statement, Written

if TYPE_CHECKING:
    from dither.server.wire.connection import Connection

_FORWARD = ("NEXT", "FORWARD", "FROM", "IN", "ALL")


@dataclass
class Declare(Command):
    """Opens a portal under a name; it is run when it is first read."""

    name: str = ""
    place: int = 0

    def run(self) -> Outcome:
        connection = self.connection
        connection.need_block()
        inner = plain_command(connection, self.statement.after(self.place), moved(self.written, self._begin))
        open_portal(connection, self.name, Portal(inner))
        return Outcome("DECLARE CURSOR")

    @property
    def _begin(self) -> int:
        return self.statement.tokens[self.place].start


@dataclass
class Fetch(Command):
    """The next rows of a cursor; None for all that are left."""

    portal: Portal | None = None
    most: int | None = None

    def columns(self) -> Columns | None:
        return None if self.portal is None or self.portal.command is None else self.portal.command.columns()

    def run(self) -> Outcome:
        if self.portal is None or self.portal.command is None:
            raise WireError("34000", "there is no cursor of this name.")
        portal = self.portal
        if portal.outcome is None:
            portal.outcome = self.portal.command.run()
        rows = portal.outcome.rows
        if rows is None:
            raise WireError("0A000", "this cursor has no rows.")
        first, last = portal.place, len(rows)
        last = last if self.most is None else min(last, first + self.most)
        portal.place = last
        return Outcome("FETCH", Rows(rows.columns, [cells[first:last] for cells in rows.cells]))


def _declare(connection: Connection, statement: Statement, written: Written) -> Command:
    """DECLARE name [NO SCROLL] CURSOR [WITHOUT HOLD] FOR query."""
    words = statement.words
    place = words.index("FOR") + 1 if "FOR" in words else len(words)
    options = set(words[2 : place - 1])
    if place >= len(words) or "CURSOR" not in options or not options <= {"NO", "SCROLL", "CURSOR", "WITHOUT", "HOLD"}:
        raise WireError("0A000", "cursors are declared DECLARE name CURSOR FOR SELECT ...", at=0)
    if "SCROLL" in options and "NO" not in options:
        raise WireError("0A000", "cursors go forward only.", at=0)
    return Declare(connection, statement, written, statement.tokens[1].value, place)


def _fetch(connection: Connection, statement: Statement, written: Written) -> Command:
    """FETCH [NEXT | FORWARD] [n | ALL] [FROM | IN] name."""
    tokens = statement.tokens[1:]
    numbers = [token for token in tokens[:-1] if token.kind == "number"]
    if (
        not tokens
        or len(numbers) > 1
        or any(token.kind != "number" and token.word not in _FORWARD for token in tokens[:-1])
    ):
        raise WireError("0A000", "cursors are read FETCH FORWARD n FROM name.", at=0)
    words = [token.word for token in tokens[:-1]]
    most = None if "ALL" in words else 1
    if numbers:
        if not numbers[0].text.isdigit():
            raise WireError("42601", "FETCH takes a whole number of rows.", at=numbers[0].start)
        most = int(numbers[0].text[:12])
    return Fetch(connection, statement, written, connection.portals.get(tokens[-1].value), most)


_CURSORS: Mapping[str, Callable[[Connection, Statement, Written], Command]] = {"DECLARE": _declare, "FETCH": _fetch}


def command_of(connection: Connection, statement: Statement, written: Written) -> Command:
    """The command that a statement is, those of cursors among them."""
    return _CURSORS.get(statement.first, plain_command)(connection, statement, written)
