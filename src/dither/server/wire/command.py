"""A command: a statement of one connection, with its parameters bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dither.server.wire.results import Columns, Outcome, RowColumn
from dither.server.wire.statements import Statement, Written
from dither.server.wire.value_types import TEXT, ValueType

if TYPE_CHECKING:
    from dither.server.wire.connection import Connection


@dataclass
class Command:
    """A statement with its parameters bound, of one connection."""

    connection: Connection
    statement: Statement
    written: Written

    def columns(self) -> Columns | None:
        """What it will show; None if it shows no rows."""
        return None

    def run(self) -> Outcome:
        raise NotImplementedError


@dataclass
class Word(Command):
    """A command that is done at once; `shows` names its columns, if it has any."""

    work: Callable[[], Outcome] = field(default=lambda: Outcome(""))
    shows: tuple[str, ...] = ()

    def columns(self) -> Columns | None:
        return tuple(RowColumn(name, ValueType(TEXT)) for name in self.shows) or None

    def run(self) -> Outcome:
        return self.work()


def moved(written: Written, begin: int) -> Written:
    """The text from a place on, before which no parameter stands."""
    later = tuple((here - begin, there) for here, there in written.pieces if here > begin)
    return Written(written.text[begin:], ((0, begin), *later))
