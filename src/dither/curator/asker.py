"""What the curator and analysts have in common: both ask questions, each at the own expense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from dither.curator.principal import Principal

if TYPE_CHECKING:
    from dither.answer import Answer
    from dither.curator.service import Service
    from dither.curator.stated import Stated
    from dither.exact.parameters import Number
    from dither.sql.pricing.explain import Explanation


class Asker:
    """Asks a service in the name of one principal."""

    def __init__(self, service: Service, principal: Principal) -> None:
        self._service, self._principal = service, principal

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
    ) -> Answer:
        """Answer a question; its price is charged before any data are read, to the people and to an analyst who asks.

        The text is in PostgreSQL's dialect, or in that named by `dialect`. A request id names one charge: a retry under
        it returns the same answer and charges nothing. (A repeat that was free has no charge, so its id is still
        unused.) How many rows of each owner count is chosen by the table's profile, unless `rows_per_owner` states it.
        Intervals hold each exact number with this confidence; with coverage="groups" they are shorter where there are
        many groups, and hold in so many of the groups only. In place of a price, `error` states how far any number may
        be off, with this confidence: the least is paid.
        """
        price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "error": error, "delta": delta}
        plan: dict[str, Any] = {"rows_per_owner": rows_per_owner}
        shown: dict[str, Any] = {"confidence": confidence, "coverage": coverage}
        return self._service.ask(self._principal, text, request=request, dialect=dialect, **price, **plan, **shown)

    def explain(self, text: str, **stated: Unpack[Stated]) -> Explanation:
        """The plan, its price and the error to expect, without reading data or spending anything."""
        return self._service.explain(self._principal, text, **stated)
