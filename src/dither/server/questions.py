"""What analysts ask: questions with their price, answers by id, the own budget and history."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from dither.curator.principal import Principal
from dither.curator.service import Service
from dither.errors import BudgetExceeded, Busy, ParameterError, PeopleFrozen, PolicyError, UnsupportedQuery
from dither.escape import json_text
from dither.server.bodies import Field
from dither.server.endpoints import ASKERS, AUDITOR, Asked, Endpoint, Reply
from dither.server.problems import NotFound, RequestConflict
from dither.server.store import Store

PRICE = (
    Field("epsilon", "number", "The price, for all columns and rows together."),
    Field("rho", "number", "The price in rho, where the budget counts in it."),
    Field("error", "number", "In place of a price: how far any number may be off; the least price is paid."),
    Field("delta", "number", "The delta to pay, where a question needs one or may have Gaussian noise for it."),
    Field("confidence", "number", "How likely the interval holds; 0.95 if nothing is said."),
    Field("dialect", "text", "The SQL dialect of the question; PostgreSQL's if nothing is said."),
    Field("rows_per_owner", "integer", "At most so many rows of each owner count."),
)
SQL = Field("sql", "text", "The question.", required=True)
REQUEST = Field("request", "text", "An id of your choice: a retry under it gets the same answer and is charged once.")
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
        return Reply(self.document(asked.principal, asked.body))

    def document(self, principal: Principal, body: Mapping[str, Any]) -> bytes:
        """The answer as it is stored, made once under a request id."""
        stated = dict(body)
        request, whose = stated.pop("request", None), key_of(principal)
        digest = sha256(json.dumps(stated, sort_keys=True).encode()).digest()
        if request is not None:
            # Before anything of the question is looked at: what the id stands for is decided once.
            if self.store.bind(whose, request, digest) != digest:
                raise RequestConflict(request)
            known = self.store.request(whose, request)
            if known is not None and known[1] is not None:
                return self._stored(whose, known[1])
        try:
            answer = self.service.ask(principal, stated.pop("sql"), request=request, **stated)
        except UNCHARGED:
            if request is not None:
                self.store.unbind(whose, request)
            raise
        identity = secrets.token_hex(16)
        document = json_text({"id": identity, **json.loads(answer.to_json())}).encode()
        return self._stored(whose, self.store.keep(whose, request, digest, identity, document))

    def answer(self, asked: Asked) -> Reply:
        return Reply(self._stored(key_of(asked.principal), asked.path["id"]))

    def _stored(self, whose: str, identity: str) -> bytes:
        found = self.store.answer(whose, identity)
        if found is None:
            raise NotFound
        return found

    def tables(self, asked: Asked) -> Any:
        return [table_document(table) for table in self.service.tables(asked.principal)]

    def budget(self, asked: Asked) -> Any:
        view = self.service.budget(asked.principal, asked.query.get("people"))
        parts = {"granted": (view.total, False), "spent": (view.spent, True), "left": (view.left, False)}
        return {"kind": view.kind, **{name: amount.figures(up=up, digits=12) for name, (amount, up) in parts.items()}}

    def history(self, asked: Asked) -> Any:
        return [
            {"sequence": entry.sequence, "kind": entry.kind, "body": dict(entry.body)}
            for entry in self.service.history(asked.principal)
        ]

    def profile(self, asked: Asked) -> Any:
        return self.service.profile(asked.principal, asked.path["table"]).to_dict()


def key_of(principal: Principal) -> str:
    """The principal as it is kept beside what is its own: tokens come and go, this stays."""
    return principal.role if principal.name is None else f"{principal.role} {principal.name}"


def table_document(table: Any) -> dict[str, Any]:
    """A declaration: names, columns, and what is protected."""
    private = {}
    if hasattr(table, "people"):
        private = {"people": table.people, "owner": str(table.via or table.owner)}
        private |= {"max_rows_per_owner": table.max_rows_per_owner}
    columns = [{"name": name, "type": str(column)} for name, column in table.columns.items()]
    return {"name": table.name, **private, "key": list(table.key), "max_rows": table.max_rows, "columns": columns}


def endpoints(questions: Questions) -> tuple[Endpoint, ...]:
    """What curators, analysts and, of the ledger, auditors may ask."""
    return (
        Endpoint("GET", "/tables", ASKERS, "The tables that you may ask about.", questions.tables),
        Endpoint("POST", "/explain", ASKERS, "Plan, price and error of a question.", questions.explain, (SQL, *PRICE)),
        Endpoint("POST", "/query", ASKERS, "Ask a question and pay for it.", questions.query, (SQL, *PRICE, REQUEST)),
        Endpoint("GET", "/answers/{id}", ASKERS, "An answer of yours again.", questions.answer),
        Endpoint("GET", "/budget", ASKERS, "What you have spent and have left.", questions.budget, query=(PEOPLE,)),
        Endpoint("GET", "/profile/{table}", ASKERS, "The profile of a table.", questions.profile),
        Endpoint("GET", "/history", (*ASKERS, AUDITOR), "Your entries in the ledger.", questions.history),
    )
