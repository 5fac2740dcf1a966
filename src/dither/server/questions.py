"""What analysts ask: questions with their price, answers by id, the own budget and history."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any

from dither.answer.document import csv_bytes
from dither.answer.wire import from_bytes, to_bytes
from dither.curator.budgets import BudgetView
from dither.curator.principal import Principal
from dither.curator.service import Service
from dither.errors import (
    BudgetExceeded,
    Busy,
    DitherError,
    LedgerError,
    ParameterError,
    PeopleFrozen,
    PolicyError,
    Stranger,
    UnsupportedQuery,
)
from dither.escape import json_text
from dither.ledger.officer.refusals import AccountClosed, AnalystFrozen
from dither.ledger.storage.leave import always, charging_by
from dither.ledger.storage.together import asking
from dither.policy.store import declaration
from dither.server.bodies import Field
from dither.server.endpoints import ASKERS, AUDITOR, COMPUTING, EVERYBODY, SLOW, Asked, Endpoint, Reply
from dither.server.problems import NotFound, RequestConflict
from dither.server.store import Store
from dither.server.tokens import Tokens

PRICE = (
    Field("epsilon", "number", "The price, for all columns and rows together."),
    Field("rho", "number", "The price in rho, where the budget counts in it."),
    Field("error", "number", "In place of a price: how far any number may be off; the least price is paid."),
    Field("delta", "number", "The delta to pay, where a question needs one or may have Gaussian noise for it."),
    Field("confidence", "number", "How likely the interval holds; 0.95 if nothing is said."),
    Field("coverage", "text", "each (if nothing is said): every interval holds so; groups: in so many of the groups."),
    Field("dialect", "text", "The SQL dialect of the question; PostgreSQL's if nothing is said."),
    Field("rows_per_owner", "integer", "At most so many rows of each owner count."),
    Field("limit_rows", "text", "after_where (if nothing is said): of rows that WHERE keeps; before_where: of all."),
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
AFTER = Field("after", "text", "The number of an entry: those that follow it are listed, at most 500.")
READERS = (*ASKERS, AUDITOR)
PEOPLE = Field("people", "text", "Whose budget; needed where there are several people.")

LEASE = 10  # seconds that a question or a job stays with a process that does not renew it
MOST_CHARACTERS = 200  # of a request id
MOST_ENTRIES = 500  # of the history, in one reply
MOST_DIGITS = 18  # of the number of an entry

# Raised before a charge, or by a retry: unless there is a charge, the request id may be used for something else.
UNCHARGED = (
    *(AccountClosed, AnalystFrozen, BudgetExceeded, Busy),
    *(ParameterError, PeopleFrozen, PolicyError, Stranger, UnsupportedQuery),
)


@dataclass(frozen=True)
class Questions:
    """Answers for one principal at a time, over the curator's service."""

    service: Service
    store: Store
    tokens: Tokens
    running: set[tuple[str, str]] = field(default_factory=set)  # principals and request ids that this process answers
    computing: Callable[[str | None], AbstractContextManager[object]] = lambda analyst: nullcontext()

    def explain(self, asked: Asked) -> Any:
        stated = dict(asked.body)
        return self.service.explain(asked.principal, stated.pop("sql"), **stated).to_dict()

    def query(self, asked: Asked) -> Reply:
        """Ask and pay; under a request id that has its answer already, that very answer."""
        form = _form(asked)
        return self._shown(asked.principal, self.asked(asked.principal, asked.body, asked.token), form)

    def asked(self, principal: Principal, body: Mapping[str, Any], token: str | None = None) -> str:
        """The id of the answer, which is made once under a request id.

        If it is asked by a token, nothing is charged once that is revoked or has ended, however long it waited.
        """
        stated = dict(body)
        request, whose = stated.pop("request", None), key_of(principal)
        if request is None:
            # What a process that dies has charged is taken up again by its id, so that everything has one.
            request = f"unnamed {secrets.token_hex(16)}"
        check_request(request)
        text = json.dumps(stated, sort_keys=True)
        digest = sha256(text.encode()).digest()
        # Before anything of the question is looked at: what the id stands for is decided once.
        known = self.store.request(whose, request)
        if known is None:
            self.service.charged(principal, request)  # refuses who may not ask, of whom nothing is kept
        bound = known[0] if known is not None and known[1] is not None else self._bind(whose, request, digest, text)
        if bound != digest:
            raise RequestConflict(request)
        if known is not None and known[1] is not None:
            return known[1]
        self.running.add((whose, request))
        try:
            with asking(), charging_by(always if token is None else partial(self.tokens.check, token)):
                answer = self.service.ask(principal, stated.pop("sql"), request=request, **stated)
                with self.computing(principal.name):
                    document = to_bytes(answer)
                return self.store.keep(whose, request, secrets.token_hex(16), document, free=not answer.charged)
        except LedgerError:
            raise  # it may be charged
        except DitherError:
            if not self.service.charged(principal, request):
                self.store.unbind(whose, request)
            raise
        finally:
            self.running.discard((whose, request))

    def _bind(self, whose: str, request: str, digest: bytes, text: str) -> bytes:
        return self.store.bind(whose, request, digest, text, int(time.time()) + LEASE)

    def answer(self, asked: Asked) -> Reply:
        return self._shown(asked.principal, asked.path["id"], _form(asked))

    def _shown(self, principal: Principal, identity: str, form: str) -> Reply:
        found = self.store.answer(key_of(principal), identity)
        if found is None:
            raise NotFound
        with self.computing(principal.name):
            written = _written(identity, found, form)
        return Reply(written, FORMS[form], headers={"dither-answer": identity})

    def tables(self, asked: Asked) -> Any:
        return [declaration(table) for table in self.service.tables(asked.principal)]

    def budget(self, asked: Asked) -> Any:
        view = self.service.budget(asked.principal, asked.query.get("people"))
        return budget_document(view)

    def history(self, asked: Asked) -> Any:
        """One page of entries; whoever wants more asks for those after the last of them."""
        entries = self.service.history(asked.principal, after=_after(asked))
        return [
            {"sequence": entry.sequence, "kind": entry.kind, "body": dict(entry.body), "version": entry.version}
            for entry in islice(entries, MOST_ENTRIES)
        ]

    def statement(self, asked: Asked) -> Any:
        """One page of lines, as of the history."""
        lines = self.service.statement(asked.principal, after=_after(asked), most=MOST_ENTRIES)
        return [line.document() for line in lines]

    def statement_line(self, asked: Asked) -> Any:
        if (number := _number(asked.path["number"])) is None:
            raise NotFound
        return self.service.question(asked.principal, number).document()

    def profile(self, asked: Asked) -> Any:
        found = self.service.profile(asked.principal, asked.path["table"])
        return {**found.to_dict(), "text": str(found)}

    def whoami(self, asked: Asked) -> Any:
        return {"role": asked.principal.role, "name": asked.principal.name}


def budget_document(view: BudgetView) -> dict[str, Any]:
    """Figures rounded to the side that promises less."""
    parts = {"granted": (view.total, False), "spent": (view.spent, True)}
    parts |= {"left": (view.left, False), "free": (view.free, False)}
    figures = {name: amount.figures(up=up, digits=15) for name, (amount, up) in parts.items()}
    return {"kind": view.kind, **figures, "state": view.state, "changes": list(view.changes)}


def check_request(request: str) -> None:
    """Refuse an id that nobody would choose."""
    if not 1 <= len(request) <= MOST_CHARACTERS:
        raise ParameterError.of("request", f"has 1 to {MOST_CHARACTERS} characters.")
    if "\0" in request:
        raise ParameterError.of("request", "must not have the character NUL, which not every database keeps.")


def _after(asked: Asked) -> int:
    """Beyond which number a page begins."""
    if (number := _number(asked.query.get("after", "0"))) is None:
        raise ParameterError.of("after", "is the number of an entry.")
    return number


def _number(stated: str) -> int | None:
    """The number of an entry, if it can be one."""
    return int(stated) if stated.isascii() and stated.isdigit() and len(stated) <= MOST_DIGITS else None


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
        Endpoint(
            "POST",
            "/explain",
            ASKERS,
            "Plan, price and error of a question.",
            questions.explain,
            (SQL, *PRICE),
            threads=COMPUTING,
        ),
        Endpoint(
            "POST",
            "/query",
            ASKERS,
            "Ask a question and pay for it.",
            questions.query,
            (SQL, *PRICE, REQUEST),
            (FORM,),
            tuple(FORMS.values()),
            threads=SLOW,
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
            threads=SLOW,
        ),
        Endpoint("GET", "/budget", ASKERS, "What you have spent and have left.", questions.budget, query=(PEOPLE,)),
        Endpoint("GET", "/profile/{table}", ASKERS, "The profile of a table.", questions.profile),
        Endpoint(
            "GET", "/history", READERS, "Your entries in the ledger.", questions.history, query=(AFTER,), threads=SLOW
        ),
        Endpoint(
            "GET",
            "/statement",
            READERS,
            "One line for each question.",
            questions.statement,
            query=(AFTER,),
            threads=SLOW,
        ),
        Endpoint("GET", "/statement/{number}", READERS, "One question, whole.", questions.statement_line, threads=SLOW),
    )
