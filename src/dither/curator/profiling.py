"""Private profiles of tables: ordinary questions under names of their own, charged once and kept in the ledger.

How many rows owners have is a count of owners, each in one group; a quantile is chosen from one row of each owner, the
first by its keyed rank, and so is a sum of distances from the middle of what is declared. All are
what the guard says of them: one owner moves a count by one, or one rank, or the sum by half the declared range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256

from dither.accounting.currency.currency import Currency
from dither.accounting.guarantees.conversion import COST_UNIT
from dither.answer.noisy_measures import Released
from dither.errors import ParameterError, PolicyError
from dither.exact.parameters import Number, floor_units, positive
from dither.mechanisms import Quantile
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Fixed, Int
from dither.records.keys import profile_key
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import measures
from dither.sql.expressions import Stored
from dither.sql.plan.nodes import Choice, CountRows, SumRows
from dither.sql.plan.question import Question
from dither.sql.planner.mechanism_choice import mechanism_from
from dither.sql.planner.profiles.profile import RANKS, ColumnQuantiles, Distances, Present, Profile, RowsPerOwner
from dither.sql.planner.profiles.selectivity import conditions
from dither.sql.planner.strategy import Strategy
from dither.sql.pricing.price import PricedQuestion, price

_FOR_ROWS = Fraction(3, 4)  # of the share; the rest is for columns
_FOR_MEAN = Fraction(1, 2)  # of a column's part; the rest is for its quantiles
_FOR_NULLABLE_MEAN = Fraction(3, 8), Fraction(1, 8)  # the same for a sum, and for how many values it is of


@dataclass(frozen=True)
class Part:
    """One question of a profile: about the rows of owners (`column` None), or about a column."""

    people: str
    table: str
    snapshot: str
    column: str | None
    cost: Fraction = Fraction(0)
    text: str = ""

    @property
    def label(self) -> str:
        """What the ledger calls it."""
        return profile_key(self.people, self.table, self.column)

    @property
    def request(self) -> str:
        """The same for the same part at the same price, so that a run that was killed is taken up again."""
        return "profile " + sha256(f"{self.label} {self.snapshot} {self.cost}".encode()).hexdigest()

    def priced(self, catalog: Catalog, currency: Currency) -> PricedQuestion:
        """The question with its price, one row of each owner for a column."""
        counted = "rho" if currency.kind == "zcdp" else "epsilon"
        stated: dict[str, Number] = {counted: self.cost}
        question = read(self.text, catalog)
        if self.column is None:
            made = price(question, currency, **stated)  # type: ignore[arg-type]
        else:
            mean = _FOR_NULLABLE_MEAN if catalog.table(self.table).columns[self.column].nullable else (_FOR_MEAN,)
            shares = (*mean, *((1 - _FOR_MEAN) / len(RANKS),) * len(RANKS))
            made = price(question, currency, strategy=Strategy(1, shares=shares), **stated)  # type: ignore[arg-type]
        return replace(made, label=self.label)


def parts(table: Table, currency: Currency, share: Number, columns: Iterable[str] | None = None) -> list[Part]:
    """The questions of a profile that costs this share of the whole budget.

    Each costs whole units of the ledger, rounded down: charges are rounded up, and together they must fit the share.
    """
    part = positive(share, "share")
    if not part <= 1:
        raise ParameterError(f"share is the part of the whole budget to spend, at most 1; got {float(part):g}.")
    wanted = _wanted(table, columns)
    total = currency.cap_cost * part
    rows = _part(table, None, _rows_text(table), _in_units(total * (_FOR_ROWS if wanted else 1)))
    each = _in_units(total * (1 - _FOR_ROWS) / max(1, len(wanted)))
    return [rows, *(_part(table, name, _quantiles_text(table, name), each) for name in wanted)]


def _in_units(cost: Fraction) -> Fraction:
    return max(1, floor_units(cost, COST_UNIT)) * COST_UNIT


def known_parts(table: Table, question: Question | None) -> list[Part]:
    """Where to look for what has been released: of all columns, or of those that a question reads."""
    names = _numbers(table)
    if question is not None:
        read_by = _columns_of(question)
        names = [name for name in names if name in read_by]
    return [_part(table, name) for name in (None, *names)]


def profile_from(table: Table, stored: Mapping[Part, bytes]) -> Profile | None:
    """What settled answers tell about a table; None if there is none."""
    if not stored:
        return None
    rows, columns, paid = None, {}, {}
    for part, answer in stored.items():
        released = Released.from_bytes(answer)
        paid[part.column or "rows"] = ", ".join(f"{name} {value}" for name, value in _decimal(released.price).items())
        if part.column is None:
            (counts,) = released.measures
            rows = RowsPerOwner(tuple(int(n) for n in counts.values), mechanism_from(counts.mechanism))
        else:
            columns[part.column] = _quantiles(table, part.column, released)
    return Profile(table.name, table.snapshot, table.max_rows_per_owner, rows, columns, paid)


def _decimal(price: Mapping[str, str]) -> dict[str, str]:
    return {name: f"{float(Fraction(value)):.6g}" for name, value in price.items()}


def _quantiles(table: Table, name: str, released: Released) -> ColumnQuantiles:
    """Chosen independently, so put in order: that is post-processing, and only brings each nearer."""
    made = [(mechanism_from(measure.mechanism), int(measure.values[0])) for measure in released.measures]
    mechanisms = tuple(mechanism for mechanism, _ in made if isinstance(mechanism, Quantile))
    values = sorted(value for mechanism, value in made if isinstance(mechanism, Quantile))
    added = [(value, mechanism) for mechanism, value in made if not isinstance(mechanism, Quantile)]
    column = table.columns[name]
    present = Present(*added[1]) if len(added) > 1 else None
    known = added and (present is not None or not column.nullable)  # or it is not known of how many values a sum is
    sums = [Distances(_middle(table, name), *added[0])] if known else []
    decimals = column.decimals if isinstance(column, Fixed) else 0
    return ColumnQuantiles(tuple(values), decimals, mechanisms, sums[0] if sums else None, present)


def _part(table: Table, column: str | None, text: str = "", cost: Fraction = Fraction(0)) -> Part:
    return Part(table.people, table.name, f"{table.name}#{table.snapshot}", column, cost, text)


def _numbers(table: Table) -> list[str]:
    """Columns of numbers; what only names a row or an owner has no use for quantiles."""
    named = {*table.key, table.owner}
    return [name for name, column in table.columns.items() if isinstance(column, (Int, Fixed)) and name not in named]


def _wanted(table: Table, columns: Iterable[str] | None) -> list[str]:
    known = _numbers(table)
    if columns is None:
        return known
    wanted = [*dict.fromkeys([columns] if isinstance(columns, str) else columns)]
    for name in wanted:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise PolicyError(f"a profile has quantiles of columns of numbers; {name!r} is none of: {listed}.")
    return wanted


def _columns_of(question: Question) -> set[str]:
    """Names of the columns that are added up or averaged, or by which rows are chosen."""
    needed = measures(question)
    summed = [measure.value for measure in needed if isinstance(measure, (SumRows, Choice))]
    chosen = [measure.condition for measure in needed if isinstance(measure, CountRows) and measure.condition]
    read_by = (*summed, *chosen, *conditions(question.source))
    return {node.name for part in read_by for node in part.walk() if isinstance(node, Stored)}


def _rows_text(table: Table) -> str:
    name = _quoted(table.name)
    if table.row_level or table.max_rows_per_owner == 1:
        return f"SELECT COUNT(*) FROM {name}"
    last = table.max_rows_per_owner.bit_length() - 1
    many = "m" if table.owner.casefold() != "m" else "n"  # GROUP BY would take an owner of that name for the count
    bins = " ".join(f"WHEN q.{many} < {2 ** (place + 1)} THEN {place}" for place in range(last))
    owner = _quoted(table.owner)
    counted = f"SELECT {owner}, COUNT(*) AS {many} FROM {name} GROUP BY {owner}"
    return f"SELECT CASE {bins} ELSE {last} END AS bin, COUNT(*) FROM ({counted}) q GROUP BY 1"


def _quantiles_text(table: Table, column: str) -> str:
    declared = table.columns[column]
    decimals = declared.decimals if isinstance(declared, Fixed) else 0
    middle = Decimal(_middle(table, column)).scaleb(-decimals)
    at = (f"PERCENTILE_CONT({float(rank)}) WITHIN GROUP (ORDER BY {_quoted(column)})" for rank in RANKS)
    present = [f"COUNT({_quoted(column)})"] if declared.nullable else []
    asked = ", ".join([f"SUM({_quoted(column)} - ({middle:f}))", *present, *at])
    return f"SELECT {asked} FROM {_quoted(table.name)}"


def _middle(table: Table, column: str) -> int:
    """Of what is declared, in the column's units."""
    declared = table.columns[column]
    if not isinstance(declared, (Int, Fixed)):
        raise TypeError(f"{column!r} is no column of numbers")
    return (declared.low + declared.high) // 2


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
