"""The OpenAPI document, fuzzed: whatever is sent, nothing crashes or leaks, and what is refused is not charged."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

import dither as dt
from dither.curator.curator import Curator

SCALE = int(os.environ.get("DITHER_CAMPAIGN", "1"))
SECRET = "SELECT COUNT(*) FROM visits WHERE age = 71"  # bob's: for bob, the curator and auditors
ROLES = ("alice", "curator", "auditor", "administrator", None)
CANARY = "canary-"  # stands in the data, in texts and in the names of owners
CHECKS = (not_a_server_error, content_type_conformance, response_schema_conformance)


@dataclass
class Fuzz:
    """Sends what is generated under every role, and looks at what comes back and what it cost."""

    served: Any
    curator: Curator
    seen: Counter[int] = field(default_factory=Counter)
    session: requests.Session = field(default_factory=requests.Session)

    def spent(self) -> list[Any]:
        ledger = self.curator._ledger
        return [ledger.balance(*account).spent for account in ledger.accounts()]

    def send(self, case: Any, who: str | None) -> None:
        before = self.spent()
        response = self._answered(case, who)
        self.seen[response.status_code] += 1
        self.check(case, who, response)
        if response.status_code >= 400:
            assert self.spent() == before, "what is refused is not charged"

    def check(self, case: Any, who: str | None, response: Any) -> None:
        case.validate_response(response, checks=CHECKS)
        assert response.status_code < 500, "nothing crashes"
        text = response.text
        for secret in (str(self.served.folder), "Traceback", ".sqlite", *self.served.tokens.values()):
            assert secret not in text, "nothing of the inside leaks"
        assert CANARY not in text, "no data leak"
        if who in ("alice", "administrator", None):
            assert "71" not in text or SECRET not in text, "nothing of others' questions leaks"

    def _answered(self, case: Any, who: str | None) -> Any:
        headers = {} if who is None else {"Authorization": f"Bearer {self.served.tokens[who]}"}
        while True:
            try:
                address = f"http://127.0.0.1:{self.served.port}"
                response = case.call(base_url=address, session=self.session, headers=headers, timeout=120)
            except (requests.exceptions.InvalidHeader, UnicodeError):
                return self._answered(case.operation.Case(), who)  # what no client can send
            if response.status_code != 429:
                return response
            time.sleep(1)


def cases(fuzz: Fuzz, examples: int) -> None:
    """So many examples for each operation, half of them fitting the document."""
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{fuzz.served.port}/v1/openapi.json")
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in GenerationMode:

            @settings(max_examples=examples, database=None, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy(generation_mode=mode))
            def run(case: Any) -> None:
                for who in ROLES:
                    fuzz.send(case, who)

            run()


def wrong_in_one_place(fuzz: Fuzz) -> None:
    """Questions with data behind them, each valid but for one parameter: refused, as all the rest is, at no cost."""
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{fuzz.served.port}/v1/openapi.json")
    body = {"sql": "SELECT remark, COUNT(*) FROM notes GROUP BY remark", "epsilon": "0.001", "delta": "1e-9"}
    for path in ("/v1/query", "/v1/explain", "/v1/jobs"):
        operation = schema[path]["POST"]
        names = operation.body[0].definition["schema"]["properties"]
        bodies = [body, *({**body, name: {"x": [1]}} for name in names), {**body, "nosuch": 1}]
        for one in bodies:
            fuzz.send(operation.Case(body=one, media_type="application/json"), "alice")
    count, form = {"sql": "SELECT COUNT(*) FROM notes", "epsilon": "0.001"}, {"format": "nosuch"}
    asked = schema["/v1/query"]["POST"].Case(body=count, query=form, media_type="application/json")
    fuzz.send(asked, "alice")


@pytest.fixture(scope="module")
def fuzz(served: Any) -> Any:
    served.query("bob", SECRET)
    with Curator.open(served.folder) as curator:
        add_canaries(curator)
        yield Fuzz(served, curator)


def add_canaries(curator: Curator) -> None:
    owners = [f"{CANARY}{number % 40}" for number in range(400)]
    rows = pa.table({"pid": owners, "remark": owners})
    declared: dict[str, Any] = {"owner": "pid", "max_rows_per_owner": 10, "columns": {"remark": dt.Text()}}
    curator.people("readers", budget=dt.ApproxDP(4, "1e-6"))
    curator.register("notes", rows, people="readers", **declared)
    curator.analyst("alice", budget=dt.ApproxDP(1, "1e-7"), people="readers")


def test_what_is_wrong_in_one_place(fuzz: Fuzz) -> None:
    wrong_in_one_place(fuzz)
    assert fuzz.seen[200] >= 2
    assert fuzz.seen[400] >= 20


LEAK = "d = app.document_of; app.document_of = lambda e: {'error': {**d(e)['error'], 'message': 'not canary-7'}}"
LATE = """
def query(self, asked):
    answer = self.asked(asked.principal, asked.body)
    return self._shown(asked.principal, answer, questions._form(asked))
questions.Questions.query = query
"""


@pytest.mark.parametrize(
    ("bug", "words"),
    [
        (LEAK, "no data leak"),
        (LATE, "what is refused is not charged"),
    ],
)
def test_planted_bugs_are_found(unserved: Any, bug: str, words: str) -> None:
    start = "from dither.server import app, questions\nfrom dither.cli.main import main\n"
    unserved.program = ("-c", f"{start}{bug}\nmain()")
    unserved.start()
    try:
        with Curator.open(unserved.folder) as curator:
            add_canaries(curator)
            with pytest.raises(AssertionError, match=words):
                wrong_in_one_place(Fuzz(unserved, curator))
    finally:
        unserved.stop()


def test_whatever_is_sent(fuzz: Fuzz) -> None:
    cases(fuzz, 2 * min(SCALE, 50))
    assert sum(fuzz.seen.values()) > 500
    assert {200, 400, 401, 403, 404} <= {*fuzz.seen}
