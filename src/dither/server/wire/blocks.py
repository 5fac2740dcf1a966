"""BEGIN, COMMIT, ROLLBACK and savepoints, as clients expect them: nothing is locked, and nothing is refunded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dither.server.wire.results import Outcome
from dither.server.wire.sqlstates import WireError, notice
from dither.server.wire.statements import Statement

if TYPE_CHECKING:
    from dither.server.wire.connection import Connection

IDLE, OPEN, FAILED = "I", "T", "E"
ENDING = ("COMMIT", "END", "ROLLBACK", "ABORT")  # all that a failed block takes
_REFUNDS_NOTHING = (
    "ROLLBACK refunds nothing: what was charged in this block stays charged, and its answers are free to read again."
)
_NO_BLOCK = "there is no block to end."


@dataclass
class Block:
    """Whether a block is open, and whether it has failed."""

    state: str = IDLE

    def check(self, statement: Statement) -> None:
        """A failed block takes nothing but its end."""
        if self.state == FAILED and statement.first not in ENDING:
            raise WireError("25P02", "this block has failed; nothing more is run until it ends.", hint="ROLLBACK.")

    def fail(self) -> None:
        if self.state == OPEN:
            self.state = FAILED


def _begin(connection: Connection, statement: Statement) -> Outcome:
    if connection.block.state == OPEN:
        return Outcome("BEGIN", notices=(notice("a block is open already."),))
    connection.block.state = OPEN
    connection.asking.charges = 0
    connection.settings.begin()
    return Outcome("BEGIN" if statement.first == "BEGIN" else "START TRANSACTION")


def _commit(connection: Connection, statement: Statement) -> Outcome:
    if connection.block.state == FAILED:
        return _ended(connection, undo=True)
    return _ended(connection, undo=False)


def _rollback(connection: Connection, statement: Statement) -> Outcome:
    words = [word for word in statement.words if word not in ("WORK", "TRANSACTION")]
    if words[1:2] == ["TO"]:
        connection.need_block()
        connection.settings.release(statement.tokens[-1].value, undo=True)
        connection.block.state = OPEN
        charged = connection.asking.charges
        return Outcome("ROLLBACK", notices=(notice(_REFUNDS_NOTHING),) if charged else ())
    return _ended(connection, undo=True)


def _ended(connection: Connection, *, undo: bool) -> Outcome:
    tag = "ROLLBACK" if undo else "COMMIT"
    if connection.block.state == IDLE:
        return Outcome(tag, notices=(notice(_NO_BLOCK),))
    said = (notice(_REFUNDS_NOTHING),) if undo and connection.asking.charges else ()
    connection.block.state = IDLE
    connection.settings.end(undo=undo)
    connection.portals.clear()
    return Outcome(tag, notices=said)


def _savepoint(connection: Connection, statement: Statement) -> Outcome:
    connection.need_block()
    connection.settings.mark(statement.tokens[-1].value)
    return Outcome("SAVEPOINT")


def _release(connection: Connection, statement: Statement) -> Outcome:
    connection.need_block()
    connection.settings.release(statement.tokens[-1].value, undo=False)
    return Outcome("RELEASE")


COMMANDS: Mapping[str, Callable[[Connection, Statement], Outcome]] = {
    "BEGIN": _begin,
    "START": _begin,
    "COMMIT": _commit,
    "END": _commit,
    "ROLLBACK": _rollback,
    "ABORT": _rollback,
    "SAVEPOINT": _savepoint,
    "RELEASE": _release,
}
