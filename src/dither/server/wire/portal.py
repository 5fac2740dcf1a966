"""Portals: commands that are run when they are first read, and read a part at a time from the stored answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dither.server.wire.command import Command, Word
from dither.server.wire.results import Columns, Outcome, formats_for
from dither.server.wire.sqlstates import WireError

if TYPE_CHECKING:
    from dither.server.wire.connection import Connection

MOST_PORTALS, MOST_HELD = 50, 2**26  # of a connection; bytes of rows in them with which it may run one more


def columns_of(connection: Connection, command: Command) -> Columns | None:
    """The columns of a command; those of questions are found by the service."""
    return command.columns() if isinstance(command, Word) else connection.perform(command.columns)


@dataclass
class Portal:
    """A command that is run when it is first read, and the place up to which it was read."""

    command: Command | None
    formats: Sequence[int] = ()
    place: int = 0
    outcome: Outcome | None = None
    _columns: Columns | None = None
    _known: bool = field(default=False)

    def columns(self, connection: Connection) -> Columns | None:
        if not self._known and self.command is not None:
            self._columns, self._known = columns_of(connection, self.command), True
        return self._columns

    def run(self, connection: Connection) -> Outcome:
        """What it gives, which is found once."""
        if self.command is None:
            return Outcome("")
        if self.outcome is None:
            if len(self.formats) > 1:
                formats_for(self.columns(connection), self.formats)  # refused before anything is charged
            word = isinstance(self.command, Word)
            self.outcome = self.command.run() if word else connection.perform(self.command.run)
        return self.outcome

    def read(self, outcome: Outcome, most: int) -> tuple[Iterator[bytes], int, bool]:
        """The next rows, how many they are, and whether there are more."""
        if outcome.rows is None:
            return iter(()), 0, False
        first, last = self.place, len(outcome.rows)
        if most > 0:
            last = min(last, first + most)
        self.place = last
        messages = outcome.rows.messages(first, last, formats_for(outcome.rows.columns, self.formats))
        return messages, last - first, last < len(outcome.rows)


def check_room(connection: Connection) -> None:
    """Refuse to run one more while others hold too much, before anything is charged."""
    held = sum(one.outcome.rows.size for one in connection.portals.values() if one.outcome and one.outcome.rows)
    if held > MOST_HELD:
        raise WireError("53400", "the open cursors of this connection hold too much.", hint="CLOSE some of them.")


def open_portal(connection: Connection, name: str, portal: Portal) -> None:
    """Keep a portal under a name; one without a name takes the place of the last."""
    portals = connection.portals
    if name and name in portals:
        raise WireError("42P03", "there is a portal of this name.")
    if len(portals) >= MOST_PORTALS and name not in portals:
        raise WireError("53400", f"a connection has at most {MOST_PORTALS} portals.")
    portals[name] = portal
