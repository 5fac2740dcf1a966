"""What a curator does over HTTP: tables, profiles, limits, the circuit breaker and the ledger; and what needs more.

Budgets, caps and tokens are granted on the curator's own machine, unless the server was started with --remote-admin:
then those with the role of an administrator may.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dither.accounting import ApproxDP, PureDP
from dither.curator.budgets import Budget
from dither.curator.curator import Curator
from dither.curator.principal import Principal
from dither.errors import ParameterError, PolicyError
from dither.ledger.officer.orders import Order
from dither.policy.limits import Limits, limits_from
from dither.server.bodies import Field
from dither.server.data_files import Uploads, below
from dither.server.endpoints import ADMINISTRATOR, AUDITOR, CURATOR, SLOW, Asked, Endpoint
from dither.server.loading import load
from dither.server.problems import Forbidden
from dither.server.questions import budget_document
from dither.server.tokens import DAYS, Tokens, document_of

_UPLOAD = "upload:"
SOURCE = Field("source", "text", "A path below the data folder, or upload: and the name of an upload.", required=True)
STRICT = Field("strict", "flag", "Refuse records that do not fit, in place of sanitising them.")
BUDGET = (
    Field("epsilon", "number", "Its epsilon.", required=True),
    Field("delta", "number", "Its delta; none makes it a pure one."),
    Field("composition", "text", "How an approximate budget adds up: zcdp or basic."),
)

_DECISION = (
    Field("analyst", "text", "Only this analyst's account."),
    Field("reason", "text", "Why; it stands in the ledger for good.", required=True),
)


@dataclass(frozen=True)
class Administration:
    """Orders to one curator's folder; loads run in processes of their own."""

    curator: Curator
    tokens: Tokens
    uploads: Uploads
    folder: Path
    anchor: Mapping[str, Any]  # as it is given to whoever opens the folder
    root: Path | None = None

    # -- tables

    def declare(self, asked: Asked) -> Any:
        """Make the tables, and with more rights the people and caps, that a policy declares."""
        policy, used = deepcopy(dict(asked.body["policy"])), []
        if "people" in policy and asked.principal.role != ADMINISTRATOR:
            raise Forbidden
        for kind in ("tables", "public"):
            declared = policy.get(kind, {})
            for table in declared.values() if isinstance(declared, dict) else ():
                used += self._place(table)
        order = {"policy": policy, "file": "policy", "strict": _strict(asked)}
        return self._load(order, used)

    def draft(self, asked: Asked) -> Any:
        """Columns as they might be declared, from names and types alone, with what to fill in; nothing is kept."""
        path, used = self._source(asked.body["source"])
        return self._load({"draft": str(path)}, used)

    def _place(self, table: Any) -> list[str]:
        """Put the real path into a declaration; the uploads that it uses."""
        if not isinstance(table, dict):
            return []
        columns = table.get("columns")
        for column in columns.values() if isinstance(columns, dict) else ():
            if isinstance(column, dict) and "labels_file" in column:
                raise PolicyError("labels_file reads a file of the server's; write the labels.")
        path, used = self._source(table.get("source"))
        table["source"] = str(path)
        return used

    def refresh(self, asked: Asked) -> Any:
        path, used = self._source(asked.body["source"])
        order = {"refresh": asked.path["table"], "source": str(path), "delimiter": asked.body.get("delimiter")}
        return self._load({**order, "strict": _strict(asked)}, used)

    def _source(self, stated: Any) -> tuple[Path, list[str]]:
        if not isinstance(stated, str):
            raise PolicyError("a table needs a source, a text.")
        if stated.startswith(_UPLOAD):
            name = stated.removeprefix(_UPLOAD)
            return self.uploads.path(name), [name]
        return below(self.root, stated), []

    def _load(self, order: dict[str, Any], used: list[str]) -> Any:
        try:
            return load({**order, "folder": str(self.folder), "anchor": dict(self.anchor)})
        finally:
            for name in used:
                self.uploads.discard(name)

    def drop(self, asked: Asked) -> Any:
        self.curator.drop(asked.path["table"])
        return {"dropped": asked.path["table"]}

    def snapshots(self, asked: Asked) -> Any:
        """Exact, as load reports are: for no analyst."""
        return [asdict(one) for one in self.curator.snapshots()]

    def profile(self, asked: Asked) -> Any:
        """Spend a share of the people's budget on a profile."""
        share, columns = asked.body.get("share", "0.02"), asked.body.get("columns")
        return self.curator.profile(asked.body["table"], share=share, columns=columns).to_dict()

    # -- people

    def people(self, asked: Asked) -> Any:
        """Every account with what it was granted, has spent and has left."""
        found = []
        for people, analyst in self.curator.accounts():
            view = budget_document(self.curator.budget(people, analyst))
            found.append({"people": people, "analyst": analyst, **view})
        return found

    def open_people(self, asked: Asked) -> Any:
        self.curator.people(asked.body["name"], budget=_budget(asked.body))
        return {"opened": asked.body["name"]}

    def open_analyst(self, asked: Asked) -> Any:
        analyst = self.curator.analyst(asked.body["name"], budget=_budget(asked.body), people=asked.body.get("people"))
        return {"opened": analyst.name}

    def freeze(self, asked: Asked) -> Any:
        self.curator.freeze(**asked.path, **asked.body)
        return {"frozen": asked.path.get("analyst", asked.path["people"])}

    def thaw(self, asked: Asked) -> Any:
        self.curator.thaw(**asked.path, **asked.body)
        return {"thawed": asked.path.get("analyst", asked.path["people"])}

    def close(self, asked: Asked) -> Any:
        self.curator.officer.close(asked.path["people"], **_decided(asked))
        return {"closed": asked.path["people"]}

    def lower(self, asked: Asked) -> Any:
        self.curator.officer.lower(asked.path["people"], **_decided(asked), budget=_budget(asked.body))
        return {"lowered": asked.path["people"]}

    def grant(self, asked: Asked) -> Any:
        """Carry out an order that the officer has signed elsewhere: the key is on no server."""
        order = asked.body["order"]
        self.curator.officer.carry_out(Order.read(order), str(order.get("signature")))
        return {"granted": order["body"].get("people")}

    # -- limits, ledger, tokens

    def limits(self, asked: Asked) -> Any:
        return self.curator.limits().declaration()

    def set_limits(self, asked: Asked) -> Any:
        declared: dict[str, Any] = {**self.curator.limits().declaration(), **asked.body["limits"]}
        made: Limits = limits_from(declared)
        return self.curator.limits(made).declaration()

    def verify(self, asked: Asked) -> Any:
        return {"entries": self.curator.service.verify(asked.principal), "intact": True}

    def list_tokens(self, asked: Asked) -> Any:
        return [document_of(token) for token in self.tokens.all()]

    def make_token(self, asked: Asked) -> Any:
        """The one time that a token is shown."""
        principal = Principal(asked.body["role"], asked.body.get("name"))
        if principal.name is not None:
            self.curator.analyst(principal.name)  # refuses a name that has no cap anywhere
        days, label = asked.body.get("days", DAYS), asked.body.get("label", "")
        return {"token": self.tokens.make(principal, days=days, label=label)}

    def revoke_token(self, asked: Asked) -> Any:
        self.tokens.revoke(asked.path["id"])
        return {"revoked": asked.path["id"]}


def _decided(asked: Asked) -> dict[str, Any]:
    """About whom, and why."""
    return {"analyst": asked.body.get("analyst"), "reason": asked.body["reason"]}


def _strict(asked: Asked) -> bool:
    return bool(asked.body.get("strict", False))


def _budget(stated: Mapping[str, Any]) -> Budget:
    if stated.get("delta") is None:
        if "composition" in stated:
            raise ParameterError("a pure budget has epsilon alone; leave composition out, or add delta.")
        return PureDP(stated["epsilon"])
    return ApproxDP(stated["epsilon"], stated["delta"], composition=stated.get("composition", "zcdp"))


def endpoints(orders: Administration, *, remote_admin: bool = False) -> tuple[Endpoint, ...]:
    """What curators and auditors may do; with `remote_admin`, what administrators may."""
    both, read = (CURATOR, ADMINISTRATOR), (CURATOR, AUDITOR, ADMINISTRATOR)
    policy = Field("policy", "object", "Tables and public tables as in a policy file.", required=True)
    table = Field("table", "text", "The table.", required=True)
    profile = (table, Field("share", "number", "Of the whole budget."), Field("columns", "texts", "Of numbers."))
    delimiter = Field("delimiter", "text", "What separates the fields of a CSV file.")
    limits = Field("limits", "object", "Those that change.", required=True)
    one, why = "/people/{people}/analysts/{analyst}/", (Field("reason", "text", "Why; it stands in the ledger."),)
    common = (
        Endpoint(
            "POST", "/tables", both, "Register the tables of a policy.", orders.declare, (policy, STRICT), threads=SLOW
        ),
        Endpoint("POST", "/draft", both, "Columns of a file, to be declared.", orders.draft, (SOURCE,), threads=SLOW),
        Endpoint(
            "POST",
            "/tables/{table}/refresh",
            both,
            "Replace a table's data.",
            orders.refresh,
            (SOURCE, delimiter, STRICT),
            threads=SLOW,
        ),
        Endpoint("GET", "/snapshots", both, "What is stored of each table.", orders.snapshots, threads=SLOW),
        Endpoint("DELETE", "/tables/{table}", both, "Forget a table and its data.", orders.drop),
        Endpoint(
            "POST", "/profile", both, "Spend a share of the budget on a profile.", orders.profile, profile, threads=SLOW
        ),
        Endpoint("GET", "/people", read, "All accounts and what they have spent.", orders.people),
        Endpoint("POST", "/people/{people}/freeze", both, "Answer nothing new about them.", orders.freeze),
        Endpoint("POST", "/people/{people}/thaw", both, "Answer questions about them again.", orders.thaw),
        Endpoint("POST", one + "freeze", both, "Charge this analyst nothing about them.", orders.freeze, why),
        Endpoint("POST", one + "thaw", both, "Let this analyst ask about them again.", orders.thaw, why),
        Endpoint("GET", "/limits", both, "What one question may take.", orders.limits),
        Endpoint("PATCH", "/limits", both, "Change what one question may take.", orders.set_limits, (limits,)),
        Endpoint("GET", "/verify", read, "Check the whole ledger.", orders.verify, threads=SLOW),
        Endpoint("GET", "/tokens", read, "All tokens, but not what they are.", orders.list_tokens),
        Endpoint("DELETE", "/tokens/{id}", both, "Revoke a token.", orders.revoke_token),
    )
    return (*common, *_granting(orders)) if remote_admin else common


def _granting(orders: Administration) -> tuple[Endpoint, ...]:
    name = Field("name", "text", "The name.", required=True)
    people = Field("people", "text", "Of whose budget; needed where there are several people.")
    token = (
        Field("role", "text", "curator, analyst, auditor, administrator or monitor.", required=True),
        Field("name", "text", "An analyst's name."),
        Field("days", "integer", "How long it is valid."),
        Field("label", "text", "A note for those who list tokens."),
    )
    only, order = (ADMINISTRATOR,), Field("order", "object", "What an officer has signed.", required=True)
    lower, close = "/people/{people}/lower", "/people/{people}/close"
    return (
        Endpoint("POST", lower, only, "Give an account less.", orders.lower, (*_DECISION, *BUDGET)),
        Endpoint("POST", close, only, "Charge an account no more, for good.", orders.close, _DECISION),
        Endpoint("POST", "/grants", only, "Give an account more, by signature.", orders.grant, (order,)),
        Endpoint("POST", "/people", only, "Open people with a budget.", orders.open_people, (name, *BUDGET)),
        Endpoint("POST", "/analysts", only, "Make an analyst.", orders.open_analyst, (name, people, *BUDGET)),
        Endpoint("POST", "/tokens", only, "Make a token.", orders.make_token, token),
    )
