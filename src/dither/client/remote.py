"""The service of a curator that runs elsewhere, as far as an analyst may use it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.answer.wire import from_bytes
from dither.client.connection import Connection
from dither.curator.budgets import Amount, BudgetView
from dither.curator.officer.question import WholeQuestion
from dither.curator.officer.snapshots import Snapshot
from dither.curator.officer.statement import Line
from dither.curator.principal import Principal
from dither.ledger.values import Entry
from dither.policy.catalog import PublicTable, Table
from dither.policy.store import table_from
from dither.policy.tables import Tables

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.sql.pricing.explanation import Explanation


@dataclass(frozen=True)
class RemoteProfile:
    """A profile as its server describes it."""

    content: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self.content.items() if name != "text"}

    def details(self) -> str:
        """Every bin of every histogram, with its interval."""
        from dither.sql.planner.profile_text import whole_text

        return whole_text(self.content)

    def __str__(self) -> str:
        return str(self.content["text"])

    __repr__ = __str__


@dataclass(frozen=True)
class RemoteService:
    """Who asks is said by the token, so that the principal of a call is only its name here."""

    connection: Connection

    def whoami(self) -> Any:
        """The role and the name that the token stands for."""
        return self.connection.get("/whoami")

    def ask(self, principal: Principal, text: str, /, **stated: Any) -> Answer:
        """The answer to a question; under an id of its own, so that it can be sent again."""
        body = _stated(text, stated)
        body.setdefault("request", secrets.token_hex(16))
        return from_bytes(self.connection.send("POST", "/query", body, {"format": "dither"}))

    def explain(self, principal: Principal, text: str, /, **stated: Any) -> Explanation:
        """The plan, its price and the error to expect."""
        from dither.sql.pricing.explanation import Explanation

        return Explanation(json.loads(self.connection.send("POST", "/explain", _stated(text, stated))))

    def budget(self, principal: Principal, people: str | None = None) -> BudgetView:
        """What the principal was granted, has spent and has left."""
        return _view(self.connection.get("/budget", people=people))

    def accounts(self) -> dict[tuple[str, str | None], BudgetView]:
        """Every budget that the token's principal may see, by people and analyst: an analyst's own caps, or all."""
        who = self.whoami()
        if who["role"] != "analyst":
            return {(one["people"], one["analyst"]): _view(one) for one in self.connection.get("/people")}
        me = Principal.analyst(who["name"])
        caps = [str(entry.body["people"]) for entry in self.history(me) if entry.kind == "account"]
        return {(people, me.name): self.budget(me, people) for people in caps}

    def history(self, principal: Principal) -> Iterator[Entry]:
        """The principal's own entries of the ledger, fetched page by page."""
        last = 0
        while page := self.connection.get("/history", after=str(last)):
            for entry in page:
                yield Entry(entry["sequence"], entry["kind"], entry["body"], entry["version"])
            last = page[-1]["sequence"]

    def statement(self, principal: Principal) -> list[Line]:
        """One line for each question of the principal's own."""
        lines: list[Line] = []
        while page := self.connection.get("/statement", after=str(lines[-1].number if lines else 0)):
            lines += map(Line.read, page)
        return lines

    def question(self, principal: Principal, number: int) -> WholeQuestion:
        """One of these lines, with the answer that was released."""
        found = self.connection.get(f"/statement/{number}")
        return WholeQuestion(Line.read(found), found["snapshot"], found["released"])

    def tables(self, principal: Principal) -> list[Table | PublicTable]:
        """The declarations of all tables about which the principal may ask."""
        return Tables([table_from(declared) for declared in self.connection.get("/tables")])

    def snapshots(self) -> list[Snapshot]:
        """What is stored of each table: for the token of a curator."""
        return [Snapshot(**one) for one in self.connection.get("/snapshots")]

    def verify(self) -> int:
        """Check the whole ledger; the number of its entries: for the token of a curator or an auditor."""
        return int(self.connection.get("/verify")["entries"])

    def profile(self, principal: Principal, table: str) -> RemoteProfile:
        """The profile of a table."""
        return RemoteProfile(self.connection.get(f"/profile/{table}"))


def _stated(text: str, stated: Mapping[str, Any]) -> dict[str, Any]:
    """What was stated, exactly: numbers as their text."""
    exact = {
        name: value if isinstance(value, (str, int)) else str(value)
        for name, value in stated.items()
        if value is not None
    }
    return {"sql": text, **exact}


def _view(found: Mapping[str, Any]) -> BudgetView:
    amounts = (_amount(found[name]) for name in ("granted", "spent", "left", "free"))
    return BudgetView(found["kind"], *amounts, state=found["state"], changes=tuple(found["changes"]))


def _amount(figures: Mapping[str, str]) -> Amount:
    known = {name: Fraction(figures[name]) if name in figures else None for name in ("epsilon", "delta", "rho")}
    return Amount(**known)
