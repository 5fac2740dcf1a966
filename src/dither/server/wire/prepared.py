"""Prepared statements, and the parameters that are bound into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dither.errors import UnsupportedQuery
from dither.server.wire.channel import ProtocolViolation
from dither.server.wire.command import Command
from dither.server.wire.commands import Question
from dither.server.wire.cursors import command_of
from dither.server.wire.parameters import (
    ARRAY_OF,
    UNKNOWN,
    inferred,
    item_of,
    list_literal,
    literal,
    other_lists,
    others,
    quoted,
)
from dither.server.wire.portal import columns_of
from dither.server.wire.results import Columns
from dither.server.wire.sqlstates import WireError, offset_of
from dither.server.wire.statements import ListLiteral, Statement, Written
from dither.server.wire.value_types import BOOL, DATE, INT8, NUMERIC, TEXT, TIMESTAMP, TIMESTAMPTZ

if TYPE_CHECKING:
    from dither.server.wire.connection import Connection

_MOST_GUESSES = 16  # parameters without a type of which it is tried whether numbers are meant
_GUESSES = {"1": NUMERIC, "TIMESTAMP '2000-01-01 00:00:00'": TIMESTAMP, "DATE '2000-01-01'": DATE, "TRUE": BOOL}
_EXAMPLES = {oid: example for example, oid in _GUESSES.items()} | dict.fromkeys((21, 23, INT8, 26, 700, 701), "1")
_EXAMPLES[TIMESTAMPTZ] = "TIMESTAMPTZ '2000-01-01 00:00:00+00'"


@dataclass
class Prepared:
    """A statement with the types of its parameters, 0 where nobody has said one; None if it is empty."""

    statement: Statement | None
    types: list[int]
    guessed: dict[int, int] = field(default_factory=dict)  # what those without a type were said to be

    @classmethod
    def of(cls, statement: Statement | None, stated: Sequence[int]) -> Prepared:
        count = 0 if statement is None else statement.parameters
        casts = {} if statement is None else statement.casts
        given = [*stated, *([UNKNOWN] * (count - len(stated)))]
        return cls(statement, [inferred(oid, casts.get(number)) for number, oid in enumerate(given, 1)])

    def bind(self, connection: Connection, values: Sequence[bytes | None], formats: Sequence[int]) -> Command | None:
        """The command with these values in place of parameters."""
        if len(values) != len(self.types):
            raise WireError("08P01", f"the statement has {len(self.types)} parameters; {len(values)} were sent.")
        if len(formats) > 1 and len(formats) != len(values):
            raise ProtocolViolation("formats of parameters are none, one, or one for each.")
        if self.statement is None:
            return None
        forms = [*formats] if len(formats) > 1 else [*formats, 0][:1] * len(values)
        given = {
            number: (value, oid or (self.guessed.get(number, UNKNOWN) if form else UNKNOWN), form)
            for number, (value, oid, form) in enumerate(zip(values, self.types, forms, strict=True), 1)
        }
        lists = self._lists(self.statement)
        literals = {
            number: (list_literal if number in lists else literal)(value, oid, bool(form))
            for number, (value, oid, form) in given.items()
        }
        tried = {
            number: meant
            for number, (value, oid, form) in given.items()
            if oid == UNKNOWN and not form and (meant := (other_lists if number in lists else others)(value))
        }
        return _fitting(connection, self.statement, literals, tried)[0]

    def describe(self, connection: Connection) -> Columns | None:
        """The columns whatever the parameters will be; on the way, what those without a type may be."""
        if self.statement is None:
            return None
        lists, items = self._lists(self.statement), [item_of(oid) or oid for oid in self.types]
        examples = {number: _EXAMPLES.get(oid, "''") for number, oid in enumerate(items, 1)}
        labels = _labels(connection)
        guesses = {
            number: labels if oid in (TEXT, 1043) else [*labels, *_GUESSES]
            for number, oid in enumerate(items, 1)
            if oid in (UNKNOWN, TEXT, 1043)
        }
        for number in lists:
            examples[number] = ListLiteral.of([examples[number]])
            if number in guesses:
                guesses[number] = [ListLiteral.of([guess]) for guess in guesses[number]]
        command, literals = _fitting(connection, self.statement, examples, guesses)
        known = _GUESSES | {ListLiteral.of([guess]): ARRAY_OF[oid] for guess, oid in _GUESSES.items()}
        self.guessed = {number: known.get(literals[number], UNKNOWN) for number in guesses}
        return columns_of(connection, command)

    def told(self) -> list[int]:
        """The types as a client is told."""
        lists = set() if self.statement is None else self._lists(self.statement)
        usual = dict.fromkeys(lists, ARRAY_OF[TEXT])
        return [oid or self.guessed.get(number) or usual.get(number, TEXT) for number, oid in enumerate(self.types, 1)]

    def _lists(self, statement: Statement) -> set[int]:
        """The parameters that are arrays: those of such a type, and those without a type that stand for one."""
        stated = dict(enumerate(self.types, 1))
        return {number for number, oid in stated.items() if item_of(oid) or (not oid and number in statement.listed)}


def _fitting(
    connection: Connection, statement: Statement, literals: dict[int, str], guesses: dict[int, list[str]]
) -> tuple[Command, dict[int, str]]:
    """The command, with other literals where the first ones are refused and others are not.

    Whether a question can be read depends on its text and on declarations alone, so nobody learns anything from it.
    """
    chosen = dict(literals)
    command = _command(connection, statement, chosen)
    if not isinstance(command, Question) or not guesses or len(guesses) > _MOST_GUESSES:
        return command, chosen
    place = _refused_at(connection, command)
    for number, meant in sorted(guesses.items()):
        for guess in meant:
            if place is None:
                return command, chosen
            tried = {**chosen, number: guess}
            other = _command(connection, statement, tried)
            found = _refused_at(connection, other)
            if found != place:
                command, chosen, place = other, tried, found
                break
    if place is not None:  # some are refused together, as in BETWEEN
        tried = chosen | {number: meant[-len(_GUESSES) :][0] for number, meant in guesses.items()}
        other = _command(connection, statement, tried)
        if _refused_at(connection, other) is None:
            return other, tried
    return command, chosen


def _labels(connection: Connection) -> list[str]:
    """Values that texts may be compared with: one of each declared list."""
    lists = (getattr(column, "values", ()) for table in connection.asking.tables() for column in table.columns.values())
    return [quoted(labels[0]) for labels in lists if labels and "\0" not in labels[0]][:_MOST_GUESSES]


def _command(connection: Connection, statement: Statement, literals: dict[int, str]) -> Command:
    written = statement.bound(literals) if literals else Written(statement.text)
    return command_of(connection, statement, written)


def _refused_at(connection: Connection, command: Command) -> int | None:
    """The place of what is refused, in the text as the client wrote it; None if nothing is."""
    try:
        connection.perform(command.columns)
    except UnsupportedQuery as error:
        return command.written.origin(offset_of(command.written.text, error.line or 1, error.column or 1))
    return None
