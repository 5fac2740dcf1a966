"""SET, RESET, SHOW, and what ends a connection's own things: DISCARD, DEALLOCATE, CLOSE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dither.server.wire.results import Outcome, text_rows
from dither.server.wire.sqlstates import WireError, notice
from dither.server.wire.statements import Statement, Token

if TYPE_CHECKING:
    from dither.server.wire.connection import Connection


def _set(connection: Connection, statement: Statement) -> Outcome:
    """SET [SESSION | LOCAL] name = value, SET TIME ZONE value, SET TRANSACTION ..."""
    tokens = list(statement.tokens[1:])
    scope = tokens.pop(0).word if tokens and tokens[0].word in ("SESSION", "LOCAL") else ""
    words = [token.word for token in tokens]
    if words[:1] == ["TRANSACTION"] or words[:3] == ["CHARACTERISTICS", "AS", "TRANSACTION"]:
        return Outcome("SET")  # nothing is locked, and every question sees one snapshot
    if words[:2] == ["TIME", "ZONE"]:
        name, tokens = "time zone", tokens[2:]
    elif words[:1] == ["NAMES"]:
        name, tokens = "names", tokens[1:]
    else:
        name, tokens = _name(tokens)
        if not tokens or tokens[0].word not in ("=", "TO"):
            raise WireError("42601", "SET is written SET name = value.", at=0)
        tokens = tokens[1:]
    if scope == "LOCAL" and connection.block.state == "I":
        return Outcome("SET", notices=(notice("SET LOCAL has no effect outside a block."),))
    said = connection.settings.set(name, _value(tokens), local=scope == "LOCAL")
    connection.report(name)
    return Outcome("SET", notices=(notice(said),) if said else ())


def _name(tokens: list[Token]) -> tuple[str, list[Token]]:
    """A name of words with dots between them, and what follows."""
    parts = []
    while tokens and tokens[0].kind in ("word", "name"):
        parts.append(tokens.pop(0).value.lower())
        if tokens and tokens[0].text == ".":
            tokens.pop(0)
            continue
        break
    if not parts:
        raise WireError("42601", "a name is missing.", at=0)
    return ".".join(parts), tokens


def _value(tokens: list[Token]) -> str | None:
    if len(tokens) == 1 and tokens[0].word == "DEFAULT":
        return None
    if not tokens:
        raise WireError("42601", "a value is missing.", at=0)
    return "".join(f"{token.value} " if token.text == "," else token.value for token in tokens)


def _reset(connection: Connection, statement: Statement) -> Outcome:
    if statement.words[1:] == ("ALL",):
        connection.settings.reset_all()
    else:
        name, _ = _name(list(statement.tokens[1:]))
        connection.settings.set(name, None)
        connection.report(name)
    return Outcome("RESET")


def _show(connection: Connection, statement: Statement) -> Outcome:
    names = shows(statement)
    if statement.words[1:] == ("ALL",):
        return Outcome("SHOW", text_rows(names, connection.settings.all()), counted=False)
    return Outcome("SHOW", text_rows(names, [[connection.settings.show(names[0].lower())]]), counted=False)


def shows(statement: Statement) -> tuple[str, ...]:
    """The columns of a SHOW; none of all others."""
    if statement.first != "SHOW":
        return ()
    words = statement.words[1:]
    if words == ("ALL",):
        return "name", "setting", "description"
    if words == ("TRANSACTION", "ISOLATION", "LEVEL"):
        return ("transaction_isolation",)
    if words == ("TIME", "ZONE"):
        return ("timezone",)
    return (_name(list(statement.tokens[1:]))[0],)


def _discard(connection: Connection, statement: Statement) -> Outcome:
    if statement.words[1:] == ("ALL",):
        if connection.block.state != "I":
            raise WireError("25001", "DISCARD ALL cannot be in a block.")
        connection.settings.reset_all()
        connection.forget()
    return Outcome(" ".join(statement.words[:2]))


def _deallocate(connection: Connection, statement: Statement) -> Outcome:
    words = [token for token in statement.tokens[1:] if token.word != "PREPARE"]
    if len(words) == 1 and words[0].word == "ALL":
        connection.prepared.clear()
        return Outcome("DEALLOCATE ALL")
    if len(words) != 1 or connection.prepared.pop(words[0].value, None) is None:
        raise WireError("26000", "there is no prepared statement of this name.")
    return Outcome("DEALLOCATE")


def _close(connection: Connection, statement: Statement) -> Outcome:
    words = statement.tokens[1:]
    if len(words) == 1 and words[0].word == "ALL":
        connection.portals.clear()
        return Outcome("CLOSE CURSOR ALL")
    if len(words) != 1 or connection.portals.pop(words[0].value, None) is None:
        raise WireError("34000", "there is no cursor of this name.")
    return Outcome("CLOSE CURSOR")


def _unlisten(connection: Connection, statement: Statement) -> Outcome:
    return Outcome("UNLISTEN")  # nobody listens here


COMMANDS: Mapping[str, Callable[[Connection, Statement], Outcome]] = {
    "SET": _set,
    "RESET": _reset,
    "SHOW": _show,
    "DISCARD": _discard,
    "DEALLOCATE": _deallocate,
    "CLOSE": _close,
    "UNLISTEN": _unlisten,
}
