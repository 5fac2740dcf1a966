"""Private profiles of tables: ordinary questions under names of their own, charged once and kept in the ledger.

Each is a histogram of owners: every owner is in one of its bins, so one owner moves one number by one, whatever it is
counted by. Several histograms are several parts, whose prices add up. A second histogram of the same thing has its bins
where the first one found the owners to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256

from dither.accounting.currency.currency import Currency
from dither.accounting.guarantees.conversion import COST_UNIT
from dither.answer.noisy_measures import Released
from dither.errors import ParameterError, PolicyError
from dither.exact.parameters import Number, floor_units, positive
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Coded, Int
from dither.records.keys import histogram_key, profile_key
from dither.sql.expressions import Clamp, Constant, Negate, Numeric, Stored, simplifier
from dither.sql.plan.aggregates import Count
from dither.sql.plan.nodes import Node, OwnerAggregate, Project, Scan, Total
from dither.sql.plan.question import GroupKey, Output, Question, Shown
from dither.sql.planner.profile import Profile, Quantity, numbers, quantities
from dither.sql.planner.strategy import Strategy
from dither.sql.postprocess.histograms import Certified, Histogram
from dither.sql.postprocess.left_out import ROWS
from dither.sql.pricing.price import PricedQuestion, price

_FOR_ROWS = Fraction(1, 2)  # of the share, where columns are asked about too
_FOR_FIRST = Fraction(1, 8)  # of a histogram's part, where it is asked for twice

Find = Callable[["Part"], bytes | None]  # the best settled answer to a part, if there is one


@dataclass(frozen=True)
class Part:
    """One histogram: of what, in which bins, the part of a profile's possible misses that it has, and its price."""

    table: Table
    quantity: Quantity
    edges: tuple[int, ...]
    share: Fraction
    cost: Fraction = Fraction(0)

    @property
    def snapshot(self) -> str:
        return f"{self.table.name}#{self.table.snapshot}"

    @property
    def label(self) -> str:
        """What the ledger calls it: a histogram in other bins is another one."""
        if self.quantity.kind == ROWS and self.edges == self.quantity.first_edges:
            return profile_key(self.table.people, self.table.name)
        return histogram_key(self.table.people, self.table.name, self.quantity.name, self.edges)

    @property
    def request(self) -> str:
        """The same for the same part at the same price, so that a run that was killed is taken up again."""
        return "profile " + sha256(f"{self.label} {self.snapshot} {self.cost}".encode()).hexdigest()

    def priced(self, catalog: Catalog, currency: Currency) -> PricedQuestion:
        """The question with its price. Rows beyond the declared maximum are counted too, in the open last bin."""
        table = catalog.table(self.table.name)
        strategy = Strategy(every_row=self.quantity.kind == ROWS and not table.row_level)
        stated = {"rho" if currency.kind == "zcdp" else "epsilon": self.cost}
        made = price(self.question(table), currency, strategy=strategy, **stated)  # type: ignore[arg-type]
        return replace(made, label=self.label)

    def question(self, table: Table) -> Question:
        """How many owners there are in each bin."""
        if self.quantity.kind == ROWS and table.row_level:  # each row is its own owner
            return Question(Scan(table, ()), table.people, (), (Output("owners", Count()),), (Shown("output", 0),))
        names, total = _total(table, self.quantity)
        counted = OwnerAggregate(Scan(table, names), (), (("amount", total),))
        decimals = total.value.scale if isinstance(total.value, Numeric) else 0
        amount = Stored("amount", total.least, total.most, decimals, total.nullable)
        last = len(self.edges) - 1
        high = [(place, edge) for place, edge in enumerate(self.edges) if place][::-1]  # without a value: the first bin
        holds = tuple(simplifier.compare(">=", amount, Constant(edge, decimals)) for _, edge in high)
        place = simplifier.choose(holds, (Constant(place) for place, _ in high), Constant(0)) if high else Constant(0)
        source: Node = Project(counted, (("bin", Clamp(place, 0, last)),))
        key = GroupKey("bin", Stored("bin", 0, last, 0, False), Int(0, last, nullable=False, default=0))
        return Question(
            source, table.people, (key,), (Output("owners", Count()),), (Shown("key", 0), Shown("output", 0))
        )

    def histogram(self, answer: bytes) -> Histogram:
        """What a settled answer tells; one by rows of an earlier version has no bin beyond the declared maximum."""
        (counts,) = Released.from_bytes(answer).measures
        owners = tuple(int(number) for number in counts.values)
        return Histogram(self.edges[: len(owners)], owners, counts.mechanism, self.share)


def _total(table: Table, quantity: Quantity) -> tuple[tuple[tuple[str, str], ...], Total]:
    """The columns it reads, and what one owner's rows come to, in units of its last decimal."""
    if quantity.kind == ROWS:
        return (), Total("count", None, None, 0, quantity.top + 1, False)
    declared = table.columns[quantity.column]
    if not isinstance(declared, Coded):
        raise TypeError(f"{quantity.column!r} is no column of numbers")
    column = Stored("value", declared.low, declared.high, declared.decimals, declared.nullable)
    value: Numeric = Negate(column) if quantity.kind in ("smallest", "losses") else column
    if quantity.kind in ("gains", "losses"):
        value = Clamp(value, 0, max(0, value.high))
    function = "sum" if quantity.kind in ("gains", "losses") else "max"
    return ((quantity.column, "value"),), Total(function, value, None, 0, quantity.top, declared.nullable)


@dataclass(frozen=True)
class Asked:
    """A profile of a table that costs `total`: its rows, and columns on request."""

    table: Table
    columns: tuple[str, ...]
    total: Fraction = Fraction(0)

    @classmethod
    def of(cls, table: Table, currency: Currency, share: Number, columns: Iterable[str] | None) -> Asked:
        """What costs this share of the whole budget."""
        part = positive(share, "share")
        if not part <= 1:
            raise ParameterError(f"share is the part of the whole budget to spend, at most 1; got {float(part):g}.")
        wanted = [columns] if isinstance(columns, str) else columns or ()
        for name in wanted:
            if name not in numbers(table):
                listed = ", ".join(numbers(table)) or "none"
                raise PolicyError(f"a profile is of columns of numbers; {name!r} is none of: {listed}.")
        return cls(table, tuple(dict.fromkeys(wanted)), currency.cap_cost * part)

    def parts(self, find: Find) -> list[tuple[Part, bool]]:
        """Every histogram, and whether it can be asked for now: a second one needs the first, whose bins stand in for
        its own as long as they are not known."""
        of_columns = [one for name in self.columns for one in quantities(self.table, name)]
        costs = {one: self.total * (1 - _FOR_ROWS) / len(of_columns) for one in of_columns}
        costs = dict.fromkeys(quantities(self.table), self.total * (_FOR_ROWS if of_columns else 1)) | costs
        return [step for quantity, cost in costs.items() for step in self._steps(quantity, cost, find)]

    def _steps(self, quantity: Quantity, cost: Fraction, find: Find) -> list[tuple[Part, bool]]:
        """Each costs whole units of the ledger, rounded down: charges are rounded up, and all must fit the share."""
        several = len(quantity.steps) > 1
        edges = (1,) if self.table.row_level and quantity.kind == ROWS else quantity.first_edges
        first = Part(self.table, quantity, edges, quantity.steps[0], _units(cost * (_FOR_FIRST if several else 1)))
        if not several:
            return [(first, True)]
        answer = find(first)
        fine = edges if answer is None else quantity.second_edges(first.histogram(answer))
        second = Part(self.table, quantity, fine, quantity.steps[1], _units(cost * (1 - _FOR_FIRST)))
        return [(first, True), (second, answer is not None)]


def _units(cost: Fraction) -> Fraction:
    return max(1, floor_units(cost, COST_UNIT)) * COST_UNIT


def profile_from(table: Table, find: Find, columns: Iterable[str] | None = None) -> Profile | None:
    """What settled answers tell about a table (and these columns, or all); None if there is nothing."""
    known: dict[str, Certified] = {}
    paid: dict[str, str] = {}
    wanted = tuple(name for name in numbers(table) if columns is None or name in set(columns))
    for part, ready in Asked(table, wanted).parts(find):
        answer = find(part) if ready else None
        if answer is not None:
            before = known[part.quantity.name].histograms if part.quantity.name in known else ()
            known[part.quantity.name] = Certified(part.quantity.top, (*before, part.histogram(answer)))
            told = Released.from_bytes(answer).price
            text = ", ".join(f"{name} {float(Fraction(value)):.6g}" for name, value in told.items())
            paid[part.quantity.name] = f"{paid[part.quantity.name]} and {text}" if before else text
    decimals = {name: column.decimals for name in wanted if isinstance(column := table.columns[name], Coded)}
    return Profile(table.name, table.snapshot, table.max_rows_per_owner, known, decimals, paid) if known else None
