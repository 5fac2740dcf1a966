"""The walk of a text that computes with answers.

read -> price every part -> bind what is computed, on tables without rows -> ask the parts, each by the walk of a
question -> compute from the noisy rows, where nothing else is in reach -> keep what was computed -> show it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dither.accounting.currency.currency import Currency
from dither.answer.privacy import bought
from dither.curator.over.answer_tables import empty_answer, public_table, shown_rows, table_of, with_a_row
from dither.curator.over.cell_noise import PartAnswer
from dither.curator.over.computed_answer import computed_answer, computed_shape
from dither.curator.over.computed_files import Computed, ComputedFiles, computed_key
from dither.curator.over.engine_faults import own_words, refusal
from dither.curator.over.part_prices import PartPrices
from dither.curator.over.part_requests import check_requests, own_request
from dither.curator.present import present
from dither.curator.recall import few_owners
from dither.curator.request_options import EACH, over_groups_of
from dither.engines.protocol import EngineError
from dither.errors import Busy, NotComputed, PolicyError, UnsupportedQuery
from dither.exact.parameters import probability
from dither.ledger import Charge
from dither.sql.binding.reading import vocabulary_of
from dither.sql.over.engine_text import engine_text
from dither.sql.over.over_columns import compares
from dither.sql.over.over_question import OverQuestion
from dither.sql.over.over_reading import read_over
from dither.sql.over.provenance import Traced, traced

if TYPE_CHECKING:
    import pyarrow as pa

    from dither.answer import Answer
    from dither.answer.shape import OutputColumn
    from dither.curator.walk import Walk
    from dither.policy.catalog import Catalog
    from dither.sql.pricing.explanation import Explanation
    from dither.sql.pricing.price import PricedQuestion

_MOST_LISTED = 3_000  # rows of answers whose terms are listed: those of a running sum are as many as rows, squared
# Bytes that are computed: all of it becomes Python's own numbers here, some 50 times as large where terms are listed.
_MOST_BYTES, _MOST_LISTED_BYTES = 32 * 2**20, 8 * 2**20


@dataclass(frozen=True)
class OverWalk:
    """The steps for one text that a question's own walk refused: that refusal stands if nothing here reads it."""

    walk: Walk
    refused: UnsupportedQuery

    def ask(self, analyst: str | None, text: str, *, request: str | None = None, **stated: Any) -> Answer:
        """The whole walk."""
        asking = _Asking.of(self, analyst, text, stated)
        self.walk._engine.warm()
        over, priced, public, _ = asking.bound()
        asking.check_fits(priced, request)
        check_requests(self.walk, analyst, priced, request)
        answers: list[PartAnswer] = []
        for number, part in enumerate(over.parts):
            own = own_request(request, number)
            found, stored, charged = self.walk.answer(analyst, partial(asking.part, number), own, text)
            answer = present(
                found.question,
                stored,
                asking.level,
                charged=charged,
                rows_per_owner=stated.get("rows_per_owner"),
                over_groups=over_groups_of(asking.coverage),
            )
            paid = bought(answer.price, self.walk._accounts.budget(found.question.people))
            shown_part = replace(shown_rows(answer, part), bought=(paid,))
            first = sum(len(one.answer) for one in answers)
            answers.append(PartAnswer(part, stored, shown_part, first, charged))
        key = computed_key(text, [answer.stored for answer in answers], asking.shown(over))
        computed = self._computed(over, answers, public, key, analyst)
        prices = asking.asked(priced) if len(answers) > 1 else answers[0].answer.price
        return computed_answer(computed, answers, prices)

    def explain(self, analyst: str | None, text: str, **stated: Any) -> Explanation:
        """What all parts together cost, and how far each of their columns would be off."""
        from dither.curator.over.over_explanation import explain_parts

        asking = _Asking.of(self, analyst, text, stated)
        over, priced, _, _ = asking.bound()
        found = explain_parts(over, priced, asking.level, asking.asked(priced))
        for one in priced:
            found.content["notes"] += few_owners(self.walk._ledger, one)
        return found

    def describe(self, analyst: str | None, text: str, **stated: Any) -> tuple[OutputColumn, ...]:
        """The columns that the answer would have."""
        over, _, _, computed = _Asking.of(self, analyst, text, stated).bound()
        return computed_shape(traced(over).rows, computed)

    def _public(self, over: OverQuestion, analyst: str | None) -> dict[str, pa.Table]:
        """The rows of public tables that are computed with, read before anything is charged."""
        engine = self.walk._engine
        if not over.public:
            return {}
        try:
            with engine.slot(analyst):
                return {name: public_table(table, engine.public_rows(table)) for name, table in over.public.items()}
        except EngineError:
            raise PolicyError("the snapshot of a public table is missing; refresh the table.") from None

    def _bind(
        self,
        over: OverQuestion,
        priced: Sequence[PricedQuestion],
        level: Fraction,
        public: Mapping[str, pa.Table],
        analyst: str | None,
    ) -> pa.Table:
        """What is computed from answers without rows; what cannot be is refused, so no data decide it."""
        row = f"{over.prefix} row"
        tables = {
            part.table: table_of(empty_answer(one, level), part, 0, row)
            for part, one in zip(over.parts, priced, strict=True)
        }
        text = engine_text(traced(over).tree)
        try:
            with self.walk._engine.slot(analyst):
                bound = self.walk._engine.compute(text, {**tables, **public}, _MOST_BYTES)
                why = self._uncastable(
                    over, text, {name: with_a_row(one) for name, one in tables.items()} | dict(public)
                )
        except EngineError as error:
            why = error.why
        if not why:
            return bound
        raise refusal(over, why)

    def _uncastable(self, over: OverQuestion, text: str, tables: Mapping[str, pa.Table]) -> str:
        """The engine's words about a cast between types that have none, which it says of rows alone."""
        if over.outer.find(exp.Cast) is None:
            return ""
        try:
            self.walk._engine.compute(text, tables, _MOST_BYTES)
        except EngineError as error:
            return error.why if "Unimplemented type for cast" in error.why else ""
        return ""

    def _computed(
        self,
        over: OverQuestion,
        answers: Sequence[PartAnswer],
        public: Mapping[str, pa.Table],
        key: str,
        analyst: str | None,
    ) -> Computed:
        """What was computed from these very releases, or is now; if it fails, the answers are still there."""
        limits = self.walk._policy.read().limits
        files = ComputedFiles(self.walk._policy.folder / "computed", analyst, limits.max_stored_bytes)
        if (found := files.find(key)) is not None:
            return found
        rows = sum(len(answer.answer) for answer in answers)
        row = f"{over.prefix} row"
        tables = {one.part.table: table_of(one.answer, one.part, one.first, row) for one in answers} | dict(public)
        why = ""
        for lists in (True, False) if rows <= _MOST_LISTED else (False,):
            query, most = traced(over, lists=lists), _MOST_LISTED_BYTES if lists else _MOST_BYTES
            try:
                with self.walk._engine.slot(analyst):
                    made = _with(self.walk._engine.compute(engine_text(query.tree), tables, most), query, over)
                if len(made.to_bytes()) <= limits.max_answer_bytes:
                    return files.keep(key, made)
                why = "it is too large"
            except EngineError as error:
                why = own_words(over, error.why)
            except Busy:
                why = "no worker was free"
                break
        raise NotComputed([part.text for part in over.parts], why)


def _with(table: Any, query: Traced, over: OverQuestion) -> Computed:
    tables = [part.table for part in over.parts]
    of = None if query.rows.of is None else tables.index(query.rows.of.table)
    return Computed(_values_alone(table), query.rows.columns, query.rows.chosen, of, compares(over.outer))


def _values_alone(table: pa.Table) -> pa.Table:
    """The table made anew from its values: under a NULL lies whatever was in the worker's memory before."""
    import pyarrow as pa

    columns = [pa.array(column.to_pylist(), column.type) for column in table.columns]
    return pa.table(columns, names=table.column_names)


@dataclass
class _Asking:
    """One text of one asker: read and priced anew whenever declarations have changed."""

    walk: OverWalk
    analyst: str | None
    text: str
    dialect: str | None
    level: Fraction
    coverage: str
    stated: dict[str, Any]
    _read: tuple[Catalog, OverQuestion, tuple[PricedQuestion, ...]] | None = None

    @classmethod
    def of(cls, walk: OverWalk, analyst: str | None, text: str, stated: dict[str, Any]) -> _Asking:
        """What is stated with a text, of which the rest is a price and limits."""
        level = probability(stated.pop("confidence", "0.95"), "confidence")
        coverage, dialect = stated.pop("coverage", EACH), stated.pop("dialect", None)
        over_groups_of(coverage)
        return cls(walk, analyst, text, dialect, level, coverage, stated)

    def shown(self, over: OverQuestion) -> dict[str, str]:
        """All that decides what is computed from the same releases by the same text."""
        found = {"confidence": str(self.level), "coverage": self.coverage}
        found["rows_per_owner"] = str(self.stated.get("rows_per_owner"))
        if over.source.dialect:
            found["dialect"] = over.source.dialect
        if over.public:
            found["public"] = ",".join(sorted(f"{table.name}#{table.snapshot}" for table in over.public.values()))
        return found

    def bound(self) -> tuple[OverQuestion, tuple[PricedQuestion, ...], dict[str, pa.Table], pa.Table]:
        """What is asked and computed, the parts' prices, public tables, and the table that comes out without rows."""
        _, over, priced = self._current()
        public = self.walk._public(over, self.analyst)
        return over, priced, public, self.walk._bind(over, priced, self.level, public, self.analyst)

    def part(self, number: int) -> PricedQuestion:
        """One part, priced by what is declared now."""
        before = self._read
        now = self._current()
        if before is not None and len(before[2]) != len(now[2]):
            raise PolicyError("tables were declared anew meanwhile; ask again.")
        return now[2][number]

    def asked(self, priced: Sequence[PricedQuestion]) -> dict[str, str]:
        """The whole price, as it was stated; for an error, what it comes to."""
        return PartPrices.total(priced, self.stated)

    def check_fits(self, priced: Sequence[PricedQuestion], request: str | None) -> None:
        """Refuse before the first part is paid for what the last one could not pay."""
        ledger, accounts = self.walk.walk._ledger, self.walk.walk._accounts
        cost, delta, people = Fraction(0), Fraction(0), priced[0].question.people
        for one in priced:
            charge = Charge(one.price.cost, one.price.delta)
            if ledger.find(people, self.analyst, one.known_as, one.snapshot, charge) is None:
                cost, delta = cost + charge.cost, delta + charge.delta
        known = request is not None and ledger.requested(people, self.analyst, request) is not None
        if cost and not known and not ledger.fits(people, self.analyst, Charge(cost, delta)):
            raise accounts.refusal(people, self.analyst, self.asked(priced), Charge(cost, delta))

    def _current(self) -> tuple[Catalog, OverQuestion, tuple[PricedQuestion, ...]]:
        walk = self.walk.walk
        catalog = walk.catalogs.of(self.analyst)
        if self._read is not None and self._read[0] == catalog:
            return self._read
        kinds: list[Currency] = []

        def currency(people: str) -> Currency:
            walk._accounts.budget(people, self.analyst)
            kinds.append(Currency.of(walk._accounts.budget(people)))
            return kinds[-1]

        over = read_over(
            self.text,
            catalog,
            lambda people: currency(people).kind,
            levels=self.stated.get("error") is None,
            vocabulary=None if self.dialect is None else vocabulary_of(self.dialect),
        )
        if over is None:
            raise self.walk.refused
        prices = PartPrices(currency(over.people), self.stated)
        stated = prices.split(over.parts)
        priced = tuple(
            walk.price_question(part.question, self.analyst, confidence=self.level, **one)
            for part, one in zip(over.parts, stated, strict=True)
        )
        self._read = catalog, over, priced
        return self._read
