"""The tables of a ledger in PostgreSQL: the fourth layout of SQLite's, with the same constraints and triggers."""

from __future__ import annotations

from pathlib import Path

from dither.ledger.storage.schema import BY_AN_OFFICER, OF_THE_BOOK

SCHEMA = "dither"
# Whoever writes holds the one row of this table until the transaction ends.
TURN = (
    "CREATE TABLE IF NOT EXISTS turn (one BOOLEAN PRIMARY KEY CONSTRAINT turn_one CHECK (one))",
    "INSERT INTO turn VALUES (TRUE) ON CONFLICT DO NOTHING",
)
# Read with every transaction: a server that was set to lose what it has confirmed is refused at once.
DURABLE = {
    "fsync": ("on",),
    "full_page_writes": ("on",),  # without it a page that a crash cuts in two stays so, with what was committed on it
    "synchronous_commit": (
        "on",
        "remote_apply",
    ),  # less waits for no disk, or not for standbys that should have it
    "session_replication_role": ("origin",),  # others do not fire triggers
}

_TABLES = (
    """CREATE TABLE entries (
  sequence BIGINT PRIMARY KEY CONSTRAINT entries_from_one CHECK (sequence >= 1),
  version BIGINT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  state BYTEA NOT NULL CONSTRAINT entries_state CHECK (octet_length(state) = 32),
  mac BYTEA NOT NULL CONSTRAINT entries_mac CHECK (octet_length(mac) = 32)
)""",
    """CREATE TABLE accounts (
  opened BIGINT PRIMARY KEY CONSTRAINT accounts_opened REFERENCES entries (sequence),
  cap BIGINT NOT NULL CONSTRAINT accounts_cap CHECK (cap >= 1),
  cap_delta BIGINT NOT NULL CONSTRAINT accounts_cap_delta CHECK (cap_delta >= 0),
  spent BIGINT NOT NULL CONSTRAINT accounts_spent CHECK (spent >= 0),
  spent_delta BIGINT NOT NULL CONSTRAINT accounts_spent_delta CHECK (spent_delta >= 0),
  CONSTRAINT accounts_within CHECK (spent <= cap),
  CONSTRAINT accounts_within_delta CHECK (spent_delta <= cap_delta)
)""",
    """CREATE TABLE reservations (
  id BIGINT PRIMARY KEY CONSTRAINT reservations_id REFERENCES entries (sequence),
  question BYTEA NOT NULL,
  cost BIGINT NOT NULL CONSTRAINT reservations_cost CHECK (cost >= 0),
  delta BIGINT NOT NULL CONSTRAINT reservations_delta CHECK (delta >= 0),
  request BYTEA CONSTRAINT reservations_request UNIQUE,
  settled BIGINT CONSTRAINT reservations_settled UNIQUE CONSTRAINT reservations_outcome REFERENCES entries (sequence),
  CONSTRAINT reservations_settled_later CHECK (settled > id)
)""",
    """CREATE TABLE answers (
  reservation BIGINT PRIMARY KEY CONSTRAINT answers_reservation REFERENCES reservations (id),
  content BYTEA NOT NULL
)""",
    "CREATE TABLE stored (analyst TEXT PRIMARY KEY, bytes BIGINT NOT NULL CONSTRAINT stored_bytes CHECK (bytes >= 0))",
    """CREATE TABLE large_answers (
  name TEXT,
  part BIGINT CONSTRAINT large_answers_part CHECK (part >= 0),
  content BYTEA NOT NULL,
  PRIMARY KEY (name, part)
)""",
    "CREATE INDEX reservations_by_question ON reservations (question, cost, delta)",
    "CREATE INDEX reservations_open ON reservations (id) WHERE settled IS NULL",
    "CREATE INDEX entries_events ON entries (sequence) WHERE kind = 'event'",
    f"CREATE INDEX entries_of_the_book ON entries (sequence) WHERE {OF_THE_BOOK}",
)


def _guard(table: str, allowed: str) -> tuple[str, str]:
    """A trigger that lets rows change as allowed, and never go."""
    body = f"BEGIN IF TG_OP = 'UPDATE' THEN IF {allowed} THEN RETURN NEW; END IF; END IF; "
    body += f"RAISE EXCEPTION '{table}_no_change'; END"
    return (
        f"CREATE FUNCTION {table}_guard() RETURNS trigger LANGUAGE plpgsql AS '{body.replace(chr(39), chr(39) * 2)}'",
        f"CREATE TRIGGER {table}_guard BEFORE UPDATE OR DELETE ON {table}"
        f" FOR EACH ROW EXECUTE FUNCTION {table}_guard()",
    )


_NEVER_LESS = (
    "NEW.opened = OLD.opened AND NEW.spent >= OLD.spent AND NEW.spent_delta >= OLD.spent_delta"
    " AND ((NEW.cap = OLD.cap AND NEW.cap_delta = OLD.cap_delta)"
    f" OR (NEW.spent = OLD.spent AND NEW.spent_delta = OLD.spent_delta AND {BY_AN_OFFICER}))"
)
_THIRD_NEVER_LESS = (
    "NEW.opened = OLD.opened AND NEW.cap = OLD.cap AND NEW.cap_delta = OLD.cap_delta"
    " AND NEW.spent >= OLD.spent AND NEW.spent_delta >= OLD.spent_delta"
)
_SETTLED_ONCE = (
    "OLD.settled IS NULL AND NEW.id = OLD.id AND NEW.question = OLD.question AND NEW.cost = OLD.cost"
    " AND NEW.delta = OLD.delta AND NEW.request IS NOT DISTINCT FROM OLD.request"
)
_EMPTIED = tuple(
    f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION entries_guard()"
    for table in ("entries", "accounts", "reservations", "answers", "large_answers")
)
STATEMENTS = (
    *_TABLES,
    *_guard("entries", "FALSE"),
    *_guard("accounts", _NEVER_LESS),
    *_guard("reservations", _SETTLED_ONCE),
    *_guard("answers", "FALSE"),
    *_guard("large_answers", "FALSE"),
    *_EMPTIED,
)

# From each layout to the next.
STEPS = {
    3: (
        "DROP INDEX entries_of_the_book",
        f"CREATE INDEX entries_of_the_book ON entries (sequence) WHERE {OF_THE_BOOK}",
        _guard("accounts", _NEVER_LESS)[0].replace("CREATE", "CREATE OR REPLACE", 1),
    )
}

# What a schema holds, one line each; whatever is not said by a definition is said by its own columns.
DESCRIPTION = """
SELECT concat_ws(' ', 'relation', relname, relkind, relpersistence, relrowsecurity, relhasrules) FROM pg_class
  WHERE relnamespace = %(schema)s::regnamespace
UNION ALL SELECT concat_ws(' ', 'column', relname, attname, format_type(atttypid, atttypmod), attnotnull, atthasdef)
  FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE relnamespace = %(schema)s::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid))
  FROM pg_constraint WHERE connamespace = %(schema)s::regnamespace AND contype <> 'n'
UNION ALL SELECT concat_ws(' ', 'index', indisvalid, pg_get_indexdef(indexrelid)) FROM pg_index
  JOIN pg_class ON pg_class.oid = indrelid WHERE relnamespace = %(schema)s::regnamespace AND relkind = 'r'
UNION ALL SELECT concat_ws(' ', 'trigger', tgenabled, pg_get_triggerdef(pg_trigger.oid)) FROM pg_trigger
  JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = %(schema)s::regnamespace AND NOT tgisinternal
UNION ALL SELECT concat_ws(' ', 'function', proname, lanname, proconfig, prosrc) FROM pg_proc
  JOIN pg_language ON pg_language.oid = prolang WHERE pronamespace = %(schema)s::regnamespace
"""


def expected() -> list[str]:
    """The description of a schema with these tables and nothing else."""
    return sorted((Path(__file__).parent / "layout.txt").read_text(encoding="utf-8").splitlines())


def third() -> list[str]:
    """The same of the layout before: caps never changed, and officers wrote nothing."""
    changes = ((_NEVER_LESS, _THIRD_NEVER_LESS), ("'officer'::text, 'lower'::text, ", ""))
    lines = expected()
    for new, old in changes:
        lines = [line.replace(new, old) for line in lines]
    return sorted(lines)
