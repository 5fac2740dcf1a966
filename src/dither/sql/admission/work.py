"""What a question takes at most, from its plan and declarations alone: rows, joins, cells, characters, bytes, time.

The plan is the very one that is lowered and run. Every number is an upper bound for all data that the declarations
allow, so none of them says anything about data. Of a table that declares no `max_rows`, numbers of rows are those of
the largest table there can be; what is bounded then is how many rows are made for each row that is read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.policy.limits import Limits
from dither.sql import expressions as e
from dither.sql.admission.inlining import words
from dither.sql.bounding.flow import flow, held
from dither.sql.bounding.row_flow import Flow
from dither.sql.guard.facts import facts
from dither.sql.lowering.listing import MOST_LISTED
from dither.sql.lowering.lower import used
from dither.sql.memo import remembered
from dither.sql.plan.nodes import (
    Aggregate,
    Choice,
    CountDistinct,
    CountOwners,
    CountRows,
    Measure,
    ModeRows,
    Node,
    OwnerAggregate,
    Project,
    PublicAggregate,
    PublicScan,
    Scan,
    SumRows,
    UnionAll,
)
from dither.sql.pricing.notes import limits

# Abstract row-operations, of which a second does at least this many. `python bench/limits.py` measures what they take.
PER_SECOND = 100_000_000
UNDECLARED_ROWS = 3_000_000  # for which the time of a question is judged where a table declares no `max_rows`
OVERHEAD = 50_000_000  # of any question: half a second to plan, start, charge and settle
_LOOKED = 2  # for a pair of rows that is looked at
_MADE = 100  # for a row that is made, sorted or held in a table of hashes
_TOLD_APART = 2  # rows that a value in a table of different ones takes as much memory as
_CHARACTERS = 4  # of a text that are written or looked at for one
_CELL = 1_000  # for a noisy number: drawn exactly, stored, and shown
_CHOICE, _CANDIDATE = 1_000, 10  # for a value that is chosen, and for one that a choice looks at

# Bytes of a stored answer.
_HEADER = 65_536  # the price and the names of fields
_NUMBER = 2 * 1_234 + 1  # digits of a fraction whose parts have 4,096 bits each, as long as any that is read
_MECHANISM = 6 * _NUMBER + 256  # of its parameters, their names and how its numbers are written
_MENTIONED = 3  # times that a measure or its column is named: itself, bounds and centres
_WORD, _WIDE_WORD = 24, 64  # of a noisy integer, as digits, within 64 bits and beyond
_KEY, _CHARACTER = 24, 12  # of a code in JSON; of a character that JSON writes as two surrogates
_SMALL = 2**26  # values whose sums, over as many rows as there can be, fit 64 bits


@dataclass(frozen=True)
class Work:
    """Upper bounds of what a question takes.

    `rows` are read from tables, and `made` by joins and on the way, both of the one statement that makes most of each
    row; `met` are the rows of one owner that one join makes before they are limited. `cells` are noisy numbers, which
    are `groups` times `measures`; of `selected` keys the first are shown. `characters` of texts are
    computed for one row, and `written` for each row that is read, for which `held` are held at once; `matched` are
    compared and matched with patterns for one row; `texts` are those that a table itself has in one row. `words` are
    those that an engine may write out. `bytes` are stored for good. `cost` is in row-operations, `each` of them for
    each row that is read.
    `declared` says whether all tables declare `max_rows`.
    """

    rows: int
    made: int
    met: int
    groups: int
    measures: int
    selected: bool
    characters: int
    written: int
    held: int
    matched: int
    texts: int
    words: int
    bytes: int
    cost: int
    each: int
    declared: bool

    @property
    def cells(self) -> int:
        return self.groups * self.measures

    @property
    def growth(self) -> int:
        """Rows made for each row read."""
        return -(-self.made // max(1, self.rows))

    @property
    def seconds(self) -> Fraction:
        """A bound on the time it takes, on any machine that does `PER_SECOND`."""
        return Fraction(self.cost if self.declared else self.each * UNDECLARED_ROWS, PER_SECOND)


@remembered
def work(aggregates: tuple[Aggregate, ...], most_cells: int = Limits.max_cells) -> Work:
    """What it takes to answer by these aggregations; of selected keys, those are shown that make `most_cells`."""
    flows = [_aggregated(aggregate) for aggregate in aggregates]
    most = max(flows, key=lambda known: known.made / max(1, known.read))
    listed = max(_groups(aggregate, known) for aggregate, known in zip(aggregates, flows, strict=True))
    measures = sum(len(aggregate.measures) for aggregate in aggregates)
    groups = listed if aggregates[0].public else min(listed, max(1, most_cells // measures))
    scans = [scan for part in aggregates for scan in _scans(part)]
    drawn = _MADE * (listed - groups) + groups * (_CELL * measures + _choices(aggregates))
    return Work(
        rows=most.read,
        made=most.made,
        met=max(known.met for known in flows),
        groups=groups,
        measures=measures,
        selected=not aggregates[0].public,
        characters=max(known.characters for known in flows),
        written=max(-(-known.written // max(1, known.read)) for known in flows),
        held=max(-(-_held(part) // max(1, known.read)) for part, known in zip(aggregates, flows, strict=True)),
        matched=sum(known.matched for known in flows),
        texts=max(sum(map(_longest, facts(scan).schema.values())) for scan in scans),
        words=max(map(words, aggregates)),
        bytes=_bytes(aggregates, groups),
        cost=OVERHEAD + drawn + sum(map(_cost, flows)),
        each=sum(-(-_cost(known) // max(1, known.read)) for known in flows),
        declared=all(scan.table.max_rows is not None for scan in scans),
    )


def _aggregated(aggregate: Aggregate) -> Flow:
    """With keys and measures computed for each row, and what is held: groups, and values to tell apart."""
    known = flow(aggregate.child)
    values: list[e.Expression | None] = [key.code for key in aggregate.keys]
    held = known.rows if aggregate.keys else 0
    for measure in aggregate.measures:
        if isinstance(measure, (SumRows, CountDistinct)):
            values.append(measure.value)
        elif isinstance(measure, CountRows):
            values.append(measure.condition)
        held += _TOLD_APART * known.rows if isinstance(measure, (CountOwners, CountDistinct)) else 0
    if aggregate.chosen_from is not None:
        values.append(aggregate.chosen_from)
        held += known.rows
    return replace(known.computing(values), made=known.made + held)


def _held(aggregate: Aggregate) -> int:
    """Characters that are held at once: on the way, of keys, and of texts to tell apart."""
    codes: list[e.Expression] = [key.code for key in aggregate.keys]
    told = [codes]
    told += [[*codes, measure.value] for measure in aggregate.measures if isinstance(measure, CountDistinct)]
    return held(aggregate.child, used(aggregate)) + sum(_told_apart(aggregate.child, values) for values in told)


def _told_apart(child: Node, values: Sequence[e.Expression]) -> int:
    """Characters of the combinations of values: as many as rows, or as the table has if it is a column of its own."""
    rows, renamed = (
        flow(child).rows,
        any(isinstance(node, (Project, OwnerAggregate, PublicAggregate, UnionAll)) for node in child.walk()),
    )
    if len(values) == 1 and isinstance(values[0], e.StoredText) and not renamed:
        (own,) = [scan for scan in _scans(child) if values[0].name in dict(scan.names).values()]
        rows = min(rows, flow(own).rows)
    return rows * sum(map(_longest, values))


def _scans(node: Node) -> list[Scan | PublicScan]:
    return [inner for inner in node.walk() if isinstance(inner, (Scan, PublicScan))]


def _cost(known: Flow) -> int:
    texts = -(-(known.written + known.scanned) // _CHARACTERS)
    return known.read + known.steps + _LOOKED * known.looked + _MADE * known.made + texts


def _groups(aggregate: Aggregate, known: Flow) -> int:
    """How many groups there are: all that public keys make, or no more than there are rows and values."""
    if aggregate.public:
        return aggregate.group_count
    return min(known.rows, _combinations([key.code for key in aggregate.keys]))


def _combinations(codes: Sequence[e.Expression]) -> int:
    count = 1
    for code in codes:
        if not isinstance(code, e.Numeric):
            return 2**126
        count *= code.high - code.low + 1 + code.nullable
    return count


def _choices(aggregates: Sequence[Aggregate]) -> int:
    """What choices in one group take: a mode looks at all values that there are, a quantile at those of its rows."""
    chosen = [m for aggregate in aggregates for m in aggregate.measures if isinstance(m, Choice)]
    looked = sum(mode.value.high - mode.value.low + 1 for mode in chosen if isinstance(mode, ModeRows))
    return _CHOICE * len(chosen) + _CANDIDATE * looked


def _bytes(aggregates: Sequence[Aggregate], groups: int) -> int:
    """Of the stored answer: noisy integers, the keys if they were selected, and what is said about them."""
    each = sum(_width(measure) for aggregate in aggregates for measure in aggregate.measures)
    first = aggregates[0]
    if not first.public:
        each += sum(_KEY + _CHARACTER * _longest(key.code) for key in first.keys)
    listed = min(groups, MOST_LISTED) if first.public and any(isinstance(n, PublicScan) for n in first.walk()) else 0
    return _HEADER + _said(aggregates) + groups * each + listed * _KEY * len(first.keys)


def _said(aggregates: Sequence[Aggregate]) -> int:
    """Bytes of what is said about the numbers: measures, as they are and as they were asked for, and what was left out.

    The name of a measure can be as long as the question, and JSON writes a character of it as up to fourteen.
    """
    said = [measure.text for part in aggregates for measure in (*part.measures, *part.asked)]
    noted = len(json.dumps(limits(aggregates)))
    return noted + sum(_MECHANISM + _MENTIONED * len(json.dumps(text)) for text in said)


def _width(measure: Measure) -> int:
    value = measure.value if isinstance(measure, SumRows) else None
    wide = value is not None and max(abs(value.low), abs(value.high)) >= _SMALL
    return _WORD if isinstance(measure, Choice) or not wide else _WIDE_WORD


def _longest(value: e.Expression) -> int:
    """The characters of a text; a number has none."""
    return value.longest if isinstance(value, e.Textual) else 0
