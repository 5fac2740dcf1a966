"""The conversation: messages of the simple and of the extended protocol, one after the other."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Mapping

from dither.errors import DitherError, PolicyError
from dither.server.metrics import Metrics
from dither.server.wire.blocks import IDLE
from dither.server.wire.channel import Content, Gone, ProtocolViolation
from dither.server.wire.command import Command
from dither.server.wire.connection import MOST_PREPARED, MOST_PREPARED_BYTES, Connection, Ended
from dither.server.wire.cursors import command_of
from dither.server.wire.portal import Portal, open_portal
from dither.server.wire.prepared import Prepared
from dither.server.wire.results import Outcome, described, formats_for
from dither.server.wire.sqlstates import Report, WireError, report_of
from dither.server.wire.statements import Statement, Written, statements

log = logging.getLogger("dither.server")

IDLE_SECONDS = 3600.0  # that a connection may say nothing


class Session:
    """Answers one client until it goes."""

    def __init__(self, connection: Connection, metrics: Metrics) -> None:
        self._connection, self._channel, self._metrics = connection, connection.channel, metrics
        self._skipping = False  # after an error, up to the next Sync
        self._current: Command | Statement | None = None  # that an error would be about
        self._handlers: Mapping[bytes, Callable[[Content], None]] = {
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
            b"H": lambda content: self._channel.flush(),
        }

    def serve(self) -> None:
        """Until the client says goodbye, or what it says is no message."""
        self._ready()
        while True:
            kind, content = self._channel.message(IDLE_SECONDS)
            if kind == b"X":
                return
            if kind == b"S":
                self._sync(content)
            elif kind in (b"d", b"c", b"f") or (self._skipping and kind in (b"Q", b"F")):
                pass  # of a COPY that was refused, or sent behind an error
            elif kind == b"Q":
                self._simple(content)
            elif kind == b"F":
                self._failed(WireError("0A000", "functions are called in SELECT only."))
                self._ready()
            elif kind not in self._handlers:
                raise ProtocolViolation("there is no message of this kind.")
            elif not self._skipping:
                self._extended(self._handlers[kind], content)

    # -- the simple protocol

    def _simple(self, content: Content) -> None:
        self._current = None
        self._connection.portals.pop("", None)
        try:
            text = content.text()
            content.end()
            found = statements(text)
            if not found:
                self._channel.put(b"I")
            for statement in found:
                self._run_simple(statement)
        except Exception as error:  # noqa: BLE001 - each is told as it may be
            self._failed(error)
        self._ready()

    def _run_simple(self, statement: Statement) -> None:
        self._current = statement
        connection = self._connection
        connection.check_token()
        connection.block.check(statement)
        if statement.parameters:
            raise WireError("42P02", "there is no parameter $1 in the simple protocol.")
        command = command_of(connection, statement, Written(statement.text))
        self._current = command
        portal = Portal(command)
        outcome = portal.run(connection)
        self._notices(outcome)
        if outcome.rows is not None:
            columns = outcome.rows.columns
            self._channel.put(b"T", *described(columns, [0] * len(columns)))
        self._told(portal, outcome, 0)

    # -- the extended protocol

    def _extended(self, handler: Callable[[Content], None], content: Content) -> None:
        self._current = None
        try:
            handler(content)
        except Exception as error:  # noqa: BLE001 - each is told as it may be
            self._skipping = True
            self._failed(error)
            self._channel.flush()

    def _parse(self, content: Content) -> None:
        name, text = content.text(), content.text()
        types = [content.int32() & 0xFFFFFFFF for _ in range(content.count())]
        content.end()
        prepared = self._connection.prepared
        if name and name in prepared:
            raise WireError("42P05", "there is a prepared statement of this name.")
        held = sum(len(one.statement.text) for other, one in prepared.items() if other != name and one.statement)
        if (len(prepared) >= MOST_PREPARED and name not in prepared) or held + len(text) > MOST_PREPARED_BYTES:
            raise WireError("53400", f"a connection has at most {MOST_PREPARED} prepared statements, of 4 MB in all.")
        found = statements(text)
        if len(found) > 1:
            raise WireError("42601", "a prepared statement is one statement.", at=found[1].start)
        self._current = found[0] if found else None
        if found:
            self._connection.block.check(found[0])
        prepared[name] = Prepared.of(found[0] if found else None, types)
        self._channel.put(b"1")

    def _bind(self, content: Content) -> None:
        name, source = content.text(), content.text()
        formats = [content.int16() for _ in range(content.count())]
        values = [content.sized() for _ in range(content.count())]
        shown = [content.int16() for _ in range(content.count())]
        content.end()
        prepared = self._prepared(source)
        self._current = prepared.statement
        if prepared.statement is not None:
            self._connection.block.check(prepared.statement)
        if any(form not in (0, 1) for form in (*formats, *shown)):
            raise ProtocolViolation("formats are 0 or 1.")
        open_portal(self._connection, name, Portal(prepared.bind(self._connection, values, formats), shown))
        self._channel.put(b"2")

    def _describe(self, content: Content) -> None:
        kind, name = content.raw(1), content.text()
        content.end()
        if kind == b"S":
            prepared = self._prepared(name)
            self._current = prepared.statement
            columns = prepared.describe(self._connection)
            told = prepared.told()
            self._channel.put(b"t", struct.pack(f"!H{len(told)}I", len(told), *told))
            formats = [0] * len(columns or ())
        elif kind == b"P":
            portal = self._portal(name)
            self._current = portal.command
            columns = portal.columns(self._connection)
            formats = formats_for(columns, portal.formats)
        else:
            raise ProtocolViolation("a statement or a portal is described.")
        if columns is None:
            self._channel.put(b"n")
        else:
            self._channel.put(b"T", *described(columns, formats))

    def _execute(self, content: Content) -> None:
        name, most = content.text(), content.int32()
        content.end()
        self._connection.check_token()
        portal = self._portal(name)
        self._current = portal.command
        if portal.command is None:
            self._channel.put(b"I")
            return
        self._connection.block.check(portal.command.statement)
        first = portal.outcome is None
        outcome = portal.run(self._connection)
        if first:
            self._notices(outcome)
        self._told(portal, outcome, most)

    def _close(self, content: Content) -> None:
        kind, name = content.raw(1), content.text()
        content.end()
        if kind not in (b"S", b"P"):
            raise ProtocolViolation("a statement or a portal is closed.")
        (self._connection.prepared if kind == b"S" else self._connection.portals).pop(name, None)
        self._channel.put(b"3")

    def _sync(self, content: Content) -> None:
        content.end()
        self._skipping = False
        if self._connection.block.state == IDLE:
            self._connection.portals.clear()
        self._ready()

    def _prepared(self, name: str) -> Prepared:
        found = self._connection.prepared.get(name)
        if found is None:
            raise WireError("26000", "there is no prepared statement of this name.")
        return found

    def _portal(self, name: str) -> Portal:
        found = self._connection.portals.get(name)
        if found is None:
            raise WireError("34000", "there is no portal of this name.")
        return found

    # -- what is said

    def _told(self, portal: Portal, outcome: Outcome, most: int) -> None:
        rows, count, more = portal.read(outcome, most)
        self._channel.put_all(rows)
        if more:
            self._channel.put(b"s")
            return
        tag = f"{outcome.tag} {count}" if outcome.rows is not None and outcome.counted else outcome.tag
        self._channel.put(b"C", tag.encode() + b"\0")
        self._counted("00000")

    def _notices(self, outcome: Outcome) -> None:
        for one in outcome.notices:
            self._channel.put(b"N", one.content())

    def _failed(self, error: Exception) -> None:
        """Tell an error, with its place in what the client wrote; some end the connection."""
        if isinstance(error, (Gone, ProtocolViolation)):
            raise error
        fatal = isinstance(error, Ended)
        report = self._located(error, "FATAL" if fatal else "ERROR")
        if not isinstance(error, DitherError):
            log.error("internal error: %s", type(error).__name__)
        self._connection.block.fail()
        self._counted(report.state)
        if fatal:
            raise error
        self._channel.put(b"E", report.content())

    def _located(self, error: Exception, severity: str) -> Report:
        current = self._current
        command = current if isinstance(current, Command) else None
        statement = command.statement if command is not None else current
        start = statement.start if isinstance(statement, Statement) else 0
        if isinstance(error, WireError) or command is None:
            found = report_of(error, statement.text if isinstance(statement, Statement) else "", severity=severity)
            return found if found.position is None else _moved(found, found.position + start)
        found = report_of(error, command.written.text, severity=severity)
        if isinstance(error, PolicyError) and error.unknown_table is not None:
            place = command.statement.place_of_table(error.unknown_table)
            return found if place is None else _moved(found, place + start + 1)
        if found.position is None:
            return found
        return _moved(found, command.written.origin(found.position - 1) + start + 1)

    def _ready(self) -> None:
        self._channel.put(b"Z", self._connection.block.state.encode())
        self._channel.flush()

    def _counted(self, state: str) -> None:
        role = self._connection.login.token.principal.role
        self._metrics.count("dither_requests_total", endpoint="pg", role=role, status=state)
        log.info('{"endpoint": "pg", "role": "%s", "status": "%s"}', role, state)


def _moved(report: Report, position: int) -> Report:
    return Report(report.severity, report.state, report.message, report.hint, position)
