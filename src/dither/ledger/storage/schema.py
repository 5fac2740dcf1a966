"""The tables: entries are the record, the rest repeats what follows from them.

Every rule that SQL can express stands here as well as in the code.
"""

from __future__ import annotations

APPLICATION = 0x64697468  # "dith", in the file's header
LAYOUT = 4
COUNTING = 3  # from which on all bytes that are stored are counted

_OF_THE_BREAKER = "kind IN ('incident', 'freeze', 'thaw')"
# Entries that change the book, and that neither the accounts nor the reservations repeat.
_OF_THE_BOOK = "kind IN ('incident', 'freeze', 'thaw', 'restore', 'grant', 'close', 'token', 'principal')"
OF_THE_BOOK = _OF_THE_BOOK.replace("'close'", "'close', 'officer', 'lower'")

_ENTRIES = """
CREATE TABLE entries (
  sequence INTEGER PRIMARY KEY CHECK (sequence >= 1),
  version INTEGER NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  state BLOB NOT NULL CHECK (length(state) = 32),
  mac BLOB NOT NULL CHECK (length(mac) = 32)
) STRICT"""

_ACCOUNTS = """
CREATE TABLE accounts (
  opened INTEGER PRIMARY KEY REFERENCES entries (sequence),
  cap INTEGER NOT NULL CHECK (cap >= 1),
  cap_delta INTEGER NOT NULL CHECK (cap_delta >= 0),
  spent INTEGER NOT NULL CHECK (spent BETWEEN 0 AND cap),
  spent_delta INTEGER NOT NULL CHECK (spent_delta BETWEEN 0 AND cap_delta)
) STRICT"""

_RESERVATIONS = """
CREATE TABLE reservations (
  id INTEGER PRIMARY KEY REFERENCES entries (sequence),
  question BLOB NOT NULL,
  cost INTEGER NOT NULL CHECK (cost >= 0),
  delta INTEGER NOT NULL CHECK (delta >= 0),
  request BLOB UNIQUE,
  settled INTEGER UNIQUE REFERENCES entries (sequence) CHECK (settled > id)
) STRICT"""

_ANSWERS = """
CREATE TABLE answers (
  reservation INTEGER PRIMARY KEY REFERENCES reservations (id),
  content BLOB NOT NULL
) STRICT"""

_STORED = """
CREATE TABLE stored (
  analyst TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT"""


def _forbid(table: str, what: str, when: str = "") -> str:
    name = f"{table}_no_{what.split()[0].lower()}"
    return f"CREATE TRIGGER {name} BEFORE {what} ON {table}{when} BEGIN SELECT RAISE(ABORT, '{name}'); END"


_NEVER_LESS = """ WHEN NEW.opened <> OLD.opened OR NEW.cap <> OLD.cap OR NEW.cap_delta <> OLD.cap_delta
  OR NEW.spent < OLD.spent OR NEW.spent_delta < OLD.spent_delta"""
# From the fourth layout on a cap may change: behind an entry that does so, and not together with what is spent of it.
BY_AN_OFFICER = "(SELECT kind FROM entries ORDER BY sequence DESC LIMIT 1) IN ('grant', 'lower')"
_CAPS_BY_THEMSELVES = f""" WHEN NEW.opened <> OLD.opened OR NEW.spent < OLD.spent OR NEW.spent_delta < OLD.spent_delta
  OR ((NEW.cap <> OLD.cap OR NEW.cap_delta <> OLD.cap_delta)
    AND (NEW.spent <> OLD.spent OR NEW.spent_delta <> OLD.spent_delta OR NOT {BY_AN_OFFICER}))"""
_SETTLED_ONCE = """ WHEN OLD.settled IS NOT NULL OR NEW.id <> OLD.id OR NEW.question <> OLD.question
  OR NEW.cost <> OLD.cost OR NEW.delta <> OLD.delta OR NEW.request IS NOT OLD.request"""

_FIRST_LAYOUT = (
    _ENTRIES.strip(),
    _ACCOUNTS.strip(),
    _RESERVATIONS.strip(),
    _ANSWERS.strip(),
    "CREATE INDEX reservations_by_question ON reservations (question, cost, delta)",
    "CREATE INDEX reservations_open ON reservations (id) WHERE settled IS NULL",
    _forbid("entries", "UPDATE"),
    _forbid("entries", "DELETE"),
    _forbid("accounts", "UPDATE", _NEVER_LESS),
    _forbid("accounts", "DELETE"),
    _forbid("reservations", "UPDATE", _SETTLED_ONCE),
    _forbid("reservations", "DELETE"),
    _forbid("answers", "UPDATE"),
    _forbid("answers", "DELETE"),
)
_STORED_AND_INDEXES = (
    _STORED.strip(),
    "CREATE INDEX entries_events ON entries (sequence) WHERE kind = 'event'",
    f"CREATE INDEX entries_of_the_breaker ON entries (sequence) WHERE {_OF_THE_BREAKER}",
)
_SECOND_LAYOUT = (*_FIRST_LAYOUT, *_STORED_AND_INDEXES)
_INDEX = f"CREATE INDEX entries_of_the_book ON entries (sequence) WHERE {_OF_THE_BOOK}"
_THIRD_LAYOUT = (*_SECOND_LAYOUT[:-1], _INDEX)
_NO_UPDATE = _forbid("accounts", "UPDATE", _NEVER_LESS)
_CHANGED = (
    f"CREATE INDEX entries_of_the_book ON entries (sequence) WHERE {OF_THE_BOOK}",
    _forbid("accounts", "UPDATE", _CAPS_BY_THEMSELVES),
)
STATEMENTS = (*(statement for statement in _THIRD_LAYOUT if statement not in (_INDEX, _NO_UPDATE)), *_CHANGED)

OLDER = {1: _FIRST_LAYOUT, 2: _SECOND_LAYOUT, 3: _THIRD_LAYOUT}
# From each layout to the next.
STEPS = {
    1: _STORED_AND_INDEXES,
    2: ("DROP INDEX entries_of_the_breaker", _INDEX),
    3: ("DROP INDEX entries_of_the_book", "DROP TRIGGER accounts_no_update", *_CHANGED),
}
