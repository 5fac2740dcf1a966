"""Threats to secrets and files through HTTP: what is damaged, foreign or hostile is refused, and nothing is told."""

from __future__ import annotations

import json
import logging
import os
import pickle
import resource
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import threats_clinic as clinic
import threats_served as http

from dither.curator.catalogs import Catalogs
from dither.curator.principal import Principal
from dither.curator.service import Service
from dither.errors import LedgerError
from dither.ledger import chain, journal, page
from dither.ledger.storage.anchor import Anchor
from dither.ledger.storage.schema import LAYOUT
from dither.ledger.storage.store import File, Store
from dither.server import app, data_files
from dither.server.data_files import Uploads
from dither.server.questions import Questions
from dither.server.tokens import Token

COUNT = clinic.COUNT
Patch = pytest.MonkeyPatch
Check = Callable[[Path, Path], None]


def once(check: Callable[[http.Served], None]) -> Check:
    """A check of one server."""

    def run(base: Path, folder: Path) -> None:
        with http.served(base, folder) as served:
            check(served)

    return run


def serves(folder: Path) -> bool:
    try:
        with http.serving(folder):
            return True
    except LedgerError:
        return False


def rollback(base: Path, folder: Path) -> None:
    with http.served(base, folder) as served:
        assert served.query("alice", COUNT)[0] == 200
    old = (base / "clinic" / "ledger.sqlite").read_bytes()
    (folder / "clinic" / "ledger.sqlite").write_bytes(old)
    assert not serves(folder / "clinic"), "an old copy is served"


def _unchecked_anchor(patch: Patch) -> None:
    patch.setattr(journal.Journal, "hold_to", lambda *_: None)
    patch.setattr(Anchor, "advance", lambda _, mark, check: mark)


def newer(base: Path, folder: Path) -> None:
    with http.served(base, folder):
        pass
    connection = sqlite3.connect(folder / "clinic" / "ledger.sqlite")
    connection.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    connection.close()
    assert not serves(folder / "clinic"), "a newer ledger is served"


def edited(base: Path, folder: Path) -> None:
    with http.served(base, folder) as served:
        served.query("alice", f"{COUNT} WHERE age > 17")
        served.query("alice", f"{COUNT} WHERE age > 18")
    path = folder / "clinic" / "ledger.sqlite"
    content = path.read_bytes()
    assert b"age > 17" in content
    path.write_bytes(content.replace(b"age > 17", b"age > 71"))
    with http.serving(folder / "clinic") as served:
        status, said = served.call("auditor", "GET", "/v1/history")
        assert (status, b"age > 71" in said) == (503, False), "an edited entry is shown"


def full_disk(served: http.Served) -> None:
    """Nothing is given once a write has failed, not even when there is room again: what is on disk is unknown."""
    ledger, other = (served.folder / name for name in ("ledger.sqlite-wal", "server.sqlite-wal"))
    for number in count(10):
        assert served.query("alice", f"{COUNT} WHERE age > {number}", epsilon="0.001")[0] == 200
        if ledger.stat().st_size > other.stat().st_size + 2**16:
            break
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ledger.stat().st_size, before[1]))
    try:
        assert served.query("alice", f"{COUNT} WHERE age > 1", request="full")[0] in (500, 503)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert served.query("alice", f"{COUNT} WHERE age > 2")[0] == 503, "an unknown disk is trusted"


def bombs(served: http.Served) -> None:
    huge, deep = b'{"sql": "' + b"x" * 2**20 + b'"}', b'{"sql": ' + b"[" * 10**5
    seen = [served.call("alice", "POST", "/v1/query", body)[0] for body in (huge, deep, b"9" * 10**5)]
    assert seen == [413, 400, 400], "a bomb is refused before it is read"
    for headers in ({"X-Long": "x" * 10**5}, {f"X-{number}": "x" * 1000 for number in range(50)}):
        with suppress(OSError):  # the connection ends
            assert served.call("alice", "GET", "/v1/tables", None, **headers)[0] >= 400, "headers are bounded"
    assert served.query("alice", COUNT)[0] == 200


class Touch:
    """Makes a file if it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self._path),))


def pickles(served: http.Served) -> None:
    path = served.folder.parent / "touched"
    for kind in ("application/octet-stream", "application/json"):
        body = pickle.dumps(Touch(path))
        assert served.call("alice", "POST", "/v1/query", body, **{"Content-Type": kind})[0] == 400, "a pickle is read"
    assert not path.exists(), "a pickle is read"


def logs(served: http.Served) -> None:
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(f"{record.getMessage()} {record.exc_info}")  # type: ignore[method-assign]
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    logging.getLogger("dither").setLevel(logging.DEBUG)
    try:
        for text in (COUNT, "SELECT nosuch FROM visits", f"{COUNT} WHERE remark = 'canary'"):
            served.query("alice", text, request="canary")
        heard.append(served.call("auditor", "GET", "/v1/metrics")[1].decode())
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    text = "\n".join(heard)
    assert '"endpoint": "query"' in text
    for secret in ("SELECT", "visits", "canary", "alice", *served.tokens.values()):
        assert secret not in text, "a log has something of a question"


def _logged(patch: Patch) -> None:
    query = Questions.query

    @wraps(query)
    def told(self: Questions, asked: Any) -> Any:
        app.log.info("asked: %s", asked.body["sql"])
        return query(self, asked)

    patch.setattr(Questions, "query", told)


def strangers(served: http.Served) -> None:
    """A token of a name without a cap, made before a cap is, say; and alice about people for whom she has none."""
    served.tokens["mallory"] = served.server.tokens.make(Principal.analyst("mallory"))
    before = [*served.curator.ledger()]
    bodies = ({"sql": COUNT, "epsilon": 1}, {"sql": "no SQL", "epsilon": "none"})
    heard = {served.call("mallory", "POST", f"/v1/{what}", body) for what in ("query", "explain") for body in bodies}
    heard |= {served.call("mallory", "GET", f"/v1/{what}") for what in ("tables", "budget", "history", "profile/x")}
    assert {status for status, _ in heard} == {401}, "a stranger got further than the door"
    assert len(heard) == 1
    assert b"staff" not in served.call("alice", "GET", "/v1/tables")[1], "a foreign table shows"
    foreign, nosuch = (served.query("alice", f"SELECT COUNT(*) FROM {name}") for name in ("staff", "nosuc"))
    assert foreign[1].replace(b"staff", b"nosuc") == nosuch[1], "a foreign table shows"
    assert [*served.curator.ledger()] == before


def uploads(served: http.Served) -> None:
    kind = {"Content-Type": "text/csv"}
    status, said = served.call("curator", "POST", "/v1/uploads", b"patient,age\n1,canary\n", **kind)
    assert status == 200
    (kept,) = (served.folder / "uploads").glob("*/*.csv")
    assert kept.stat().st_mode & 0o077 == 0
    source = {"source": f"upload:{json.loads(said)['upload']}"}
    status, said = served.call("curator", "POST", "/v1/tables/visits/refresh", source)
    assert (status, b"canary" in said) == (400, False)
    assert not [*(served.folder / "uploads").rglob("*.csv")], "personal data are left on disk"


def reports(base: Path, folder: Path) -> None:
    """Data that are clean and data that a load has to mend look the same to analysts."""
    seen = []
    for older in (0, 900):
        with http.served(base, folder / str(older)) as served:
            served.curator.refresh("visits", clinic.patients(older=older))
            explain = served.call("alice", "POST", "/v1/explain", {"sql": COUNT, "epsilon": 1})
            seen.append([explain, *(served.call("alice", "GET", f"/v1/{what}") for what in ("tables", "budget"))])
    assert seen[0] == seen[1], "an analyst is shown what a load saw"


def _told_with_tables(patch: Patch) -> None:
    from dither.curator import registration
    from dither.server import questions

    said, heard = questions.declaration, list[str]()
    with_budget = registration.with_budget

    def listening(report: Any, budget: Any) -> Any:
        made = with_budget(report, budget)
        heard[:] = [str(made)]
        return made

    patch.setattr(registration, "with_budget", listening)
    patch.setattr(questions, "declaration", lambda table: {**said(table), "report": [*heard]})


def revoked(served: http.Served) -> None:
    token = served.token("alice")
    assert served.call("alice", "GET", "/v1/tables")[0] == 200
    assert served.call("curator", "DELETE", f"/v1/tokens/{token.split('_')[1]}")[0] == 200
    assert served.call("alice", "GET", "/v1/tables")[0] == 401, "a revoked token opens something"
    assert served.call("auditor", "POST", "/v1/query", {"sql": COUNT, "epsilon": 1})[0] == 403


def links(served: http.Served) -> None:
    outside = served.folder / "secret.parquet"
    pq.write_table(clinic.patients(), outside)
    (served.folder.parent / "link.parquet").symlink_to(outside)
    for source in ("link.parquet", "clinic/../clinic/secret.parquet", str(outside)):
        status, _ = served.call("curator", "POST", "/v1/tables/visits/refresh", {"source": source})
        assert status == 400, "a link is followed"


def _unsealed(_: bytes, __: Any, row: Any) -> chain.Link:
    return chain.Link(*row)


THREATS: dict[str, tuple[Check, str, dict[str, Callable[[Patch], None]]]] = {
    "20": (rollback, "an old copy", {"nobody looks at the anchor": _unchecked_anchor}),
    "21": (once(full_disk), "is trusted", {"goes on": lambda patch: patch.setattr(Store, "stop", lambda *_: None)}),
    "41": (once(bombs), "a bomb", {"bodies of any size": lambda patch: patch.setattr(app, "MOST_BYTES", 2**40)}),
    "42": (
        once(pickles),
        "a pickle",
        {"pickles are read": lambda patch: patch.setattr(app, "read_json", pickle.loads)},
    ),
    "43": (once(logs), "a log has", {"questions are logged": _logged}),
    "44": (
        edited,
        "an edited entry",
        {"unsealed": lambda patch: patch.setattr(page, "authentic", _unsealed)},
    ),
    "51": (newer, "newer", {"any layout": lambda patch: patch.setattr(File, "check_tables", lambda _: None)}),
    "61": (
        once(strangers),
        "a stranger|a foreign table",
        {
            "anybody is let in": lambda patch: patch.setattr(Service, "_account", lambda self, who: who.name),
            "all tables show": lambda patch: patch.setattr(Catalogs, "of", lambda self, _: self._policy.catalog()),
        },
    ),
    "62": (once(uploads), "left on disk", {"kept": lambda patch: patch.setattr(Uploads, "discard", lambda *_: None)}),
    "63": (reports, "what a load saw", {"a report with the tables": _told_with_tables}),
    "66": (
        once(revoked),
        "a revoked token",
        {"valid": lambda patch: patch.setattr(Token, "state", "valid")},
    ),
    "69": (once(links), "a link", {"followed": lambda patch: patch.setattr(data_files.Path, "lstat", os.stat)}),
}


@pytest.mark.parametrize("row", THREATS)
def test_through_http(http_base: Path, tmp_path: Path, row: str) -> None:
    THREATS[row][0](http_base, tmp_path)


@pytest.mark.parametrize(("row", "bug"), [(row, bug) for row in THREATS for bug in THREATS[row][2]])
def test_planted_bugs_through_http(
    http_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, bug: str
) -> None:
    THREATS[row][2][bug](monkeypatch)
    with pytest.raises(AssertionError, match=THREATS[row][1]):
        THREATS[row][0](http_base, tmp_path)
