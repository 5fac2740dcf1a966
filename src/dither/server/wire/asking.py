"""Questions of a connection: priced by what it has set, bounded by its own budget, asked through the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any

from dither.answer.shape import OutputColumn, shape_of
from dither.answer.wire import from_bytes
from dither.exact.parameters import exact
from dither.server.questions import UNCHARGED, Questions, key_of
from dither.server.wire.results import Rows, answer_rows
from dither.server.wire.settings import Settings
from dither.server.wire.sqlstates import WireError

if TYPE_CHECKING:
    from dither.curator.principal import Principal
    from dither.policy.catalog import PublicTable, Table

_MOST_SHAPES = 64  # that a connection remembers


@dataclass
class Asking:
    """The questions of one principal on one connection, and what it has spent."""

    questions: Questions
    principal: Principal
    token: str  # its id
    settings: Settings
    spent: Fraction = Fraction(0)
    charges: int = 0  # answers that were paid for since the block began, or may have been
    _shapes: dict[Any, tuple[OutputColumn, ...]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)  # what was cancelled goes on beside what is asked next

    @property
    def intervals(self) -> bool:
        return self.settings.get("dither.intervals") == "on"

    def shape(self, text: str) -> tuple[OutputColumn, ...]:
        """The columns of the answer to come: nothing is charged for them."""
        stated = self.settings.stated()
        tables = {table.name: table.snapshot for table in self.tables()}
        key = (text, tuple(stated.items()), tuple(tables.items()))
        if key not in self._shapes:
            while len(self._shapes) >= _MOST_SHAPES:
                del self._shapes[next(iter(self._shapes))]
            self._shapes[key] = self.questions.service.describe(self.principal, text, **stated)
        return self._shapes[key]

    def explain(self, text: str) -> Any:
        """Price and error, for which nothing is charged."""
        return self.questions.service.explain(self.principal, text, **self.settings.stated())

    def tables(self) -> list[Table | PublicTable]:
        return self.questions.service.tables(self.principal)

    def ask(self, text: str, shape: tuple[OutputColumn, ...] | None, *, intervals: bool) -> Rows:
        """The rows of the answer, as it is stored."""
        stated, budget = self.settings.stated(), self.settings.get("dither.session_budget")
        price = self._price(text, stated, budget)
        self._count(price, budget)  # before it is asked: whatever becomes of it, it may have been charged
        try:
            identity = self.questions.asked(self.principal, {"sql": text, **stated}, self.token)
        except UNCHARGED:
            self._uncount(price)
            raise
        stored = self.questions.store.answer(key_of(self.principal), identity)
        if stored is None:
            raise WireError("XX000", "the answer is not there any more.", hint="Ask again, which is free.")
        answer = from_bytes(stored)
        if not answer.charged:
            self._uncount(price)
        return answer_rows(answer, shape_of(answer) if shape is None else shape, intervals=intervals)

    def _price(self, text: str, stated: Mapping[str, Any], budget: str | None) -> Fraction:
        """What the question may cost this connection."""
        epsilon = stated.get("epsilon")
        if epsilon is None and budget is not None:
            epsilon = self.explain(text).to_dict()["price"].get("epsilon")
            if epsilon is None:
                what = "dither.session_budget counts epsilon, and this price has none."
                raise WireError("53400", what, hint="SET dither.epsilon in place of dither.error.")
        return Fraction(0) if epsilon is None else exact(epsilon, "epsilon")

    def _count(self, price: Fraction, budget: str | None) -> None:
        """Refused if it is more than the connection may spend, of which one that was cancelled still takes its part."""
        with self._lock:
            if budget is not None and self.spent + price > exact(budget, "dither.session_budget"):
                known = f"has spent {float(self.spent):g}, and this costs {float(price):g}."
                what = f"this connection may spend {budget} in all, {known}"
                raise WireError("53400", what, hint="Nothing was charged. SET dither.session_budget to a larger one.")
            self.spent, self.charges = self.spent + price, self.charges + 1

    def _uncount(self, price: Fraction) -> None:
        with self._lock:
            self.spent, self.charges = self.spent - price, self.charges - 1
