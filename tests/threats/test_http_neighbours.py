"""Two folders that differ by one person, each behind HTTP: all that comes back but noise is the same, to the byte."""

from __future__ import annotations

import http.client
import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import threats_clinic as clinic
import threats_served as served_folders

from dither.accounting import ApproxDP
from dither.curator.curator import Curator
from dither.server.metrics import Sender
from dither.server.questions import Questions

# (question, price): answers, refusals before the charge, and what is out of reach; prices down to the least there are.
QUESTIONS = [
    ("SELECT COUNT(*) FROM visits", "0.1"),
    ("SELECT COUNT(*) FROM visits", "1e-300"),
    ("SELECT SUM(age) FROM visits WHERE remark LIKE 'canary%'", "1e-9"),
    ("SELECT region, AVG(age), STDDEV(visits) FROM visits GROUP BY region", "0.05"),
    ("SELECT AVG(age) FROM visits WHERE 1 / (age - 120) > 0", "0.05"),
    ("SELECT SUM(LENGTH(remark)) FROM visits", "0.05"),
    ("SELECT MEDIAN(age) FROM visits", "0.05"),
    ("SELECT n / (n - n) FROM (SELECT COUNT(*) AS n FROM visits) q", "0.05"),
    ("SELECT age FROM visits", "0.05"),
    ("SELECT COUNT(*) FROM visits WHERE patient = 4217", "0.05"),
    ("SELECT COUNT(*) FROM nosuch", "0.05"),
    ("SELECT COUNT(*) FROM visits", "1000"),
]
READ = ("tables", "budget", "whoami", "jobs/x", "answers/x", "profile/visits", "statement/99", "snapshots", "people")
FORMS = ("json", "csv", "arrow", "parquet")


def rows(gone: bool) -> pa.Table:
    """With one person who has a thousand records like nobody else's, or without."""
    others = clinic.patients()
    if gone:
        return others
    theirs = {"patient": 4217, "age": 10**9, "visits": -(10**9), "region": None}
    return pa.concat_tables(
        [others, pa.Table.from_pylist([{**theirs, "remark": f"canary {n}"} for n in range(1000)], others.schema)]
    )


class Heard:
    """All that an analyst, a monitor and a log see of a folder."""

    def __init__(self, served: Any) -> None:
        self.served = served
        self.seen: list[Any] = []

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=120)
        sent = None if body is None else json.dumps(body)
        try:
            headers = {"Authorization": f"Bearer {self.served.token('alice')}"}
            connection.request(method, f"/v1/{path}", sent, headers)
            reply = connection.getresponse()
            found = {name.lower(): value for name, value in reply.getheaders() if name.lower() != "date"}
            return reply.status, found, reply.read()
        finally:
            connection.close()

    def ask(self, text: str, price: str) -> None:
        self.seen.append((text, self.call("POST", "explain", {"sql": text, "epsilon": price})))
        status, headers, body = self.call("POST", "query", {"sql": text, "epsilon": price})
        if status != 200:
            self.seen.append((text, status, headers, body))
            return
        found = json.loads(body)
        identity = found.pop("id")
        for row in found["rows"]:  # of the noise nothing but what columns and keys there are
            row.update({name: None for name in row if name.split("_")[0] != "region"})
        for column in found["columns"]:  # what noise has hidden is noise
            column.pop("no_information", None)
        self.seen.append((text, found))
        for form in FORMS:
            status, headers, _ = self.call("GET", f"answers/{identity}?format={form}")
            noisy = ("content-length", "dither-answer")
            self.seen.append((text, form, status, {name: headers[name] for name in headers if name not in noisy}))

    def everything(self) -> None:
        for text, price in QUESTIONS:
            self.ask(text, price)
        self.seen += [(path, self.call("GET", path)) for path in READ]
        for path in ("history", "statement"):
            _, headers, body = self.call("GET", path)
            lines = json.loads(body)
            for line in lines:  # when it was, and which noise, is not the data's
                line.get("body", line).update(dict.fromkeys(("time", "request", "answer", "reserved", "settled")))
            self.seen.append((path, sorted(headers), lines))


def heard(folder: Path, gone: bool, caplog: pytest.LogCaptureFixture, patch: pytest.MonkeyPatch) -> list[Any]:
    with Curator.open(folder) as curator:
        curator.people("patients", budget=ApproxDP(40, "1e-6"))
        clinic.add_table(curator, "visits", rows(gone))
        curator.analyst("alice", budget=ApproxDP(20, "1e-7"))
    counted: list[Any] = []
    patch.setattr(Sender, "count", lambda _, name, **labels: counted.append((name, labels)))
    caplog.clear()
    with caplog.at_level(logging.INFO, "dither"), served_folders.serving(folder) as served:
        found = Heard(served)
        found.everything()
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("dither")]
    asked = [line for line in logged if '"health"' not in line]
    return [*found.seen, ("log", asked), ("metrics", counted)]


def check(tmp_path: Path, caplog: pytest.LogCaptureFixture, patch: pytest.MonkeyPatch) -> None:
    here, there = (heard(tmp_path / f"gone {gone}", gone, caplog, patch) for gone in (False, True))
    assert "canary 7" not in str(here)
    assert len(here) == len(there) > 60
    for one, other in zip(here, there, strict=True):
        assert one == other, "one person shows"


def test_neighbours_are_alike(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(tmp_path, caplog, monkeypatch)


def test_planted_bug_a_header_that_says_how_much_was_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Questions._shown

    def measured(self: Questions, principal: Any, identity: str, form: str) -> Any:
        reply = shown(self, principal, identity, form)
        (table,) = self.service.tables(principal)
        with self.service._walk._engine.home.rows(table) as stored:  # type: ignore[attr-defined]
            reply.headers["x-rows"] = str(sum(batch.num_rows for batch in stored))  # type: ignore[index]
        return reply

    monkeypatch.setattr(Questions, "_shown", measured)
    with pytest.raises(AssertionError, match="one person shows"):
        check(tmp_path, caplog, monkeypatch)
