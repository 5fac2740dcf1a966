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
_MODES = {"ISOLATION", "LEVEL", "SERIALIZABLE", "REPEATABLE", "READ", "COMMITTED", "UNCOMMITTED", "WRITE", "ONLY"}
_MODES |= {"NOT", "DEFERRABLE", ","}


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


def _rest(statement: Statement) -> tuple[str, ...]:
    """What follows the first word and those that say nothing."""
    words = statement.words[1:]
    return words[1:] if words[:1] in (("WORK",), ("TRANSACTION",)) else words


def _misread(statement: Statement) -> WireError:
    return WireError("42601", f"{statement.first} is not followed by this.", at=statement.tokens[-1].start)


def _begin(connection: Connection, statement: Statement) -> Outcome:
    if not set(_rest(statement)) <= _MODES:
        raise _misread(statement)
    if connection.block.state == OPEN:
        return Outcome("BEGIN", notices=(notice("a block is open already."),))
    _open(connection)
    return Outcome("BEGIN" if statement.first == "BEGIN" else "START TRANSACTION")


def _open(connection: Connection) -> None:
    connection.block.state = OPEN
    connection.asking.charges = 0
    connection.settings.begin()


def _commit(connection: Connection, statement: Statement) -> Outcome:
    return _ended(connection, statement, undo=connection.block.state == FAILED)


def _rollback(connection: Connection, statement: Statement) -> Outcome:
    if _rest(statement)[:1] != ("TO",):
        return _ended(connection, statement, undo=True)
    connection.need_block()
    connection.settings.release(_name(statement, _rest(statement)[1:]), undo=True)
    connection.block.state = OPEN
    charged = connection.asking.charges
    return Outcome("ROLLBACK", notices=(notice(_REFUNDS_NOTHING),) if charged else ())


def _ended(connection: Connection, statement: Statement, *, undo: bool) -> Outcome:
    tag, rest = "ROLLBACK" if undo else "COMMIT", _rest(statement)
    if rest not in ((), ("AND", "CHAIN"), ("AND", "NO", "CHAIN")):
        raise _misread(statement)
    if connection.block.state == IDLE:
        return Outcome(tag, notices=(notice(_NO_BLOCK),))
    said = (notice(_REFUNDS_NOTHING),) if undo and connection.asking.charges else ()
    connection.block.state = IDLE
    connection.settings.end(undo=undo)
    connection.portals.clear()
    if rest == ("AND", "CHAIN"):
        _open(connection)
    return Outcome(tag, notices=said)


def _name(statement: Statement, rest: tuple[str, ...]) -> str:
    """Of a savepoint: the only token of the rest, perhaps after the word."""
    if len(rest) - (len(rest) > 1 and rest[0] == "SAVEPOINT") != 1 or statement.tokens[-1].kind not in ("word", "name"):
        raise _misread(statement)
    return statement.tokens[-1].value


def _savepoint(connection: Connection, statement: Statement) -> Outcome:
    connection.need_block()
    connection.settings.mark(_name(statement, statement.words[1:]))
    return Outcome("SAVEPOINT")


def _release(connection: Connection, statement: Statement) -> Outcome:
    connection.need_block()
    connection.settings.release(_name(statement, statement.words[1:]), undo=False)
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
