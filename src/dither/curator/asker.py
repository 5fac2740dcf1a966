"""What the curator and analysts have in common: both ask questions, each at the own expense."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from dither.curator.principal import Principal

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.curator.officer.question import WholeQuestion
    from dither.curator.officer.statement import Statement
    from dither.curator.request_options import Stated
    from dither.curator.service import Service
    from dither.exact.parameters import Number
    from dither.sql.pricing.explanation import Explanation


class Asker:
    """Asks a service in the name of one principal."""

    def __init__(self, service: Service, principal: Principal) -> None:
        self._service, self._principal = service, principal

    @property
    def service(self) -> Service:
        """The one door: what can be asked in the name of any principal."""
        return self._service

    def sql(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | None = None,
        delta: Number | None = None,
        confidence: Number = "0.95",
        coverage: str = "each",
        request: str | None = None,
        dialect: str | None = None,
        rows_per_owner: int | None = None,
        limit_rows: str = "after_where",
    ) -> Answer:
        """Answer a question; its price is charged before any data are read, to the people and to an analyst who asks.

        The text is in PostgreSQL's dialect, or in that named by `dialect`. A request id names one charge: a retry under
        it returns the same answer and charges nothing, also where the first was a repeat and free. How many rows of
        each owner count is chosen by the table's profile, unless `rows_per_owner` states it: of the rows that WHERE
        keeps, or with limit_rows="before_where", which is quicker, of all rows of the table.
        Intervals hold each exact number with this confidence; with coverage="groups" they are shorter where there are
        many groups, and hold in so many of the groups only. In place of a price, `error` states how far any number may
        be off, with this confidence: the least is paid.
        """
        price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "error": error, "delta": delta}
        plan: dict[str, Any] = {"rows_per_owner": rows_per_owner, "limit_rows": limit_rows}
        shown: dict[str, Any] = {"confidence": confidence, "coverage": coverage}
        return self._service.ask(self._principal, text, request=request, dialect=dialect, **price, **plan, **shown)

    def question(self, number: int) -> WholeQuestion:
        """One question of the statement, whole, with its released answer."""
        return self._service.question(self._principal, number)

    def _statement(self) -> Statement:
        from dither.curator.officer.statement import Statement

        service, principal = self._service, self._principal
        return Statement(partial(service.history, principal), partial(service.statement, principal))

    def explain(self, text: str, **stated: Unpack[Stated]) -> Explanation:
        """The plan, its price and the error to expect, without reading data or spending anything."""
        return self._service.explain(self._principal, text, **stated)
