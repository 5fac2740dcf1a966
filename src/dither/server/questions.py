"""What analysts ask: questions with their price, answers by id, the own budget and history."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from dither.answer.document import csv_bytes
from dither.answer.wire import from_bytes, to_bytes
from dither.curator.budgets import BudgetView
from dither.curator.principal import Principal
from dither.curator.service import Service
from dither.errors import BudgetExceeded, Busy, ParameterError, PeopleFrozen, PolicyError, UnsupportedQuery
from dither.escape import json_text
from dither.policy.store import declaration
from dither.server.bodies import Field
from dither.server.endpoints import ASKERS, AUDITOR, EVERYBODY, Asked, Endpoint, Reply
from dither.server.problems import NotFound, RequestConflict
from dither.server.store import Store

PRICE = (
    Field("epsilon", "number", "The price, for all columns and rows together."),
    Field("rho", "number", "The price in rho, where the budget counts in it."),
    Field("error", "number", "In place of a price: how far any number may be off; the least price is paid."),
    Field("delta", "number", "The delta to pay, where a question needs one or may have Gaussian noise for it."),
    Field("confidence", "number", "How likely the interval holds; 0.95 if nothing is said."),
    Field("coverage", "text", "each (if nothing is said): every interval holds so; groups: in so many of the groups."),
    Field("dialect", "text", "The SQL dialect of the question; PostgreSQL's if nothing is said."),
    Field("rows_per_owner", "integer", "At most so many rows of each owner count."),
)
SQL = Field("sql", "text", "The question.", required=True)
REQUEST = Field("request", "text", "An id of your choice: a retry under it gets the same answer and is charged once.")
FORM = Field("format", "text", "json (if nothing is said), csv, arrow, parquet, or dither for the whole answer.")
FORMS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "dither": "application/vnd.dither.answer",
}
PEOPLE = Field("people", "text", "Whose budget; needed where there are several people.")

# Raised before a charge alone: whoever meets one may use the request id for something else.
UNCHARGED = (BudgetExceeded, Busy, ParameterError, PeopleFrozen, PolicyError, UnsupportedQuery)


@dataclass(frozen=True)
class Questions:
    """Answers for one principal at a time, over the curator's service."""

    service: Service
    store: Store

    def explain(self, asked: Asked) -> Any:
        stated = dict(asked.body)
        return self.service.explain(asked.principal, stated.pop("sql"), **stated).to_dict()

    def query(self, asked: Asked) -> Reply:
        """Ask and pay; under a request id that has its answer already, that very answer."""
        form = _form(asked)
        return self._shown(key_of(asked.principal), self.asked(asked.principal, asked.body), form)

    def asked(self, principal: Principal, body: Mapping[str, Any]) -> str:
        """The id of the answer, which is made once under a request id."""
        stated = dict(body)
        request, whose = stated.pop("request", None), key_of(principal)
        digest = sha256(json.dumps(stated, sort_keys=True).encode()).digest()
        if request is not None:
            # Before anything of the question is looked at: what the id stands for is decided once.
            if self.store.bind(whose, request, digest) != digest:
                raise RequestConflict(request)
            known = self.store.request(whose, request)
            if known is not None and known[1] is not None:
                return known[1]
        try:
            answer = self.service.ask(principal, stated.pop("sql"), request=request, **stated)
        except UNCHARGED:
            if request is not None:
                self.store.unbind(whose, request)
            raise
        return self.store.keep(whose, request, digest, secrets.token_hex(16), to_bytes(answer))

    def answer(self, asked: Asked) -> Reply:
        return self._shown(key_of(asked.principal), asked.path["id"], _form(asked))

    def _shown(self, whose: str, identity: str, form: str) -> Reply:
        found = self.store.answer(whose, identity)
        if found is None:
            raise NotFound
        return Reply(_written(identity, found, form), FORMS[form], headers={"dither-answer": identity})

    def tables(self, asked: Asked) -> Any:
        return [declaration(table) for table in self.service.tables(asked.principal)]

    def budget(self, asked: Asked) -> Any:
        view = self.service.budget(asked.principal, asked.query.get("people"))
        return budget_document(view)

    def history(self, asked: Asked) -> Any:
        return [
            {"sequence": entry.sequence, "kind": entry.kind, "body": dict(entry.body), "version": entry.version}
            for entry in self.service.history(asked.principal)
        ]

    def profile(self, asked: Asked) -> Any:
        found = self.service.profile(asked.principal, asked.path["table"])
        return {**found.to_dict(), "text": str(found)}

    def whoami(self, asked: Asked) -> Any:
        return {"role": asked.principal.role, "name": asked.principal.name}


def budget_document(view: BudgetView) -> dict[str, Any]:
    """Figures rounded to the side that promises less."""
    parts = {"granted": (view.total, False), "spent": (view.spent, True)}
    parts |= {"left": (view.left, False), "free": (view.free, False)}
    return {"kind": view.kind, **{name: amount.figures(up=up, digits=15) for name, (amount, up) in parts.items()}}


def _form(asked: Asked) -> str:
    form = asked.query.get("format", "json")
    if form not in FORMS:
        raise ParameterError.of("format", f"is one of {', '.join(FORMS)}.")
    return form


def _written(identity: str, stored: bytes, form: str) -> bytes:
    """An answer in the form that was asked for; values are followed by their ends."""
    if form == "dither":
        return stored
    answer = from_bytes(stored)
    if form == "json":
        return json_text({"id": identity, **json.loads(answer.to_json())}).encode()
    if form == "csv":
        return csv_bytes(answer)
    import pyarrow as pa
    from pyarrow import parquet

    table, sink = answer.to_arrow(intervals=True), pa.BufferOutputStream()
    if form == "parquet":
        parquet.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def key_of(principal: Principal) -> str:
    """The principal as it is kept beside what is its own: tokens come and go, this stays."""
    return principal.role if principal.name is None else f"{principal.role} {principal.name}"


def endpoints(questions: Questions) -> tuple[Endpoint, ...]:
    """What curators, analysts and, of the ledger, auditors may ask."""
    return (
        Endpoint("GET", "/whoami", EVERYBODY, "Whose token this is.", questions.whoami),
        Endpoint("GET", "/tables", ASKERS, "The tables that you may ask about.", questions.tables),
        Endpoint("POST", "/explain", ASKERS, "Plan, price and error of a question.", questions.explain, (SQL, *PRICE)),
        Endpoint(
            "POST",
            "/query",
            ASKERS,
            "Ask a question and pay for it.",
            questions.query,
            (SQL, *PRICE, REQUEST),
            (FORM,),
            tuple(FORMS.values()),
        ),
        Endpoint(
            "GET",
            "/answers/{id}",
            ASKERS,
            "An answer of yours again.",
            questions.answer,
            (),
            (FORM,),
            tuple(FORMS.values()),
        ),
        Endpoint("GET", "/budget", ASKERS, "What you have spent and have left.", questions.budget, query=(PEOPLE,)),
        Endpoint("GET", "/profile/{table}", ASKERS, "The profile of a table.", questions.profile),
        Endpoint("GET", "/history", (*ASKERS, AUDITOR), "Your entries in the ledger.", questions.history),
    )
