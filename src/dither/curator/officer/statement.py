"""The ledger as a bank statement: one line for each question, with its price and what became of it.

The time is that of the charge, read from the curator's clock: it informs and decides nothing. When an answer was stored
is not shown, since how long a question takes can depend on data.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from dither.curator.budgets import decimal_text
from dither.errors import ParameterError
from dither.escape import spreadsheet_cell, visible

if TYPE_CHECKING:
    from dither.ledger import Entry, Ledger

OPEN, ANSWERED, FAILED = "open", "answered", "failed"
_ENDS = {"settle": ANSWERED, "fail": FAILED}
_PAGE = 100  # questions whose ends are looked up at once
_DIGITS = 12  # of an answer's id: the first ones of its SHA-256
_COST = {"pure": "epsilon", "basic": "epsilon", "zcdp": "rho"}
_HEAD = ("no.", "reserved (UTC)", "analyst", "price", "state", "answer", "question")


@dataclass(frozen=True)
class Line:
    """One question: who was charged what for it and when, and how it ended.

    `price` is what was charged, in exact texts and in the budget's own currency; `asked` as it was stated. An answer's
    id is the beginning of the SHA-256 of its stored release.
    """

    number: int
    time: int | None  # whole seconds since 1970, UTC; None: not recorded
    people: str
    analyst: str | None  # None: the curator
    sql: str
    price: Mapping[str, str]
    asked: Mapping[str, str]
    state: str
    answer: str | None
    tables: tuple[str, ...]
    request: str | None

    @property
    def reserved(self) -> str:
        """The time to the minute."""
        return "" if self.time is None else f"{datetime.fromtimestamp(self.time, UTC):%Y-%m-%d %H:%M}"

    @property
    def shown_price(self) -> str:
        """Short, rounded up; where the budget counts in rho, with the epsilon that was stated."""
        charged = ", ".join(f"{name} {decimal_text(Fraction(value), up=True)}" for name, value in self.price.items())
        stated = self.asked.get("epsilon")
        return charged if stated is None or "epsilon" in self.price else f"epsilon {stated} ({charged})"

    @property
    def cells(self) -> tuple[str, ...]:
        """As they stand in a statement."""
        text = visible(" ".join(self.sql.split()))
        who = "(curator)" if self.analyst is None else self.analyst
        return str(self.number), self.reserved, who, self.shown_price, self.state, self.answer or "", text

    def document(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        when = None if self.time is None else datetime.fromtimestamp(self.time, UTC).isoformat()
        return {**asdict(self), "tables": list(self.tables), "reserved": when}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Line:
        """What `document` wrote."""
        fields = {name: document[name] for name in cls.__dataclass_fields__}
        return cls(**fields | {"tables": tuple(document["tables"])})


class Statement:
    """The questions of a ledger, which print as a bank statement; iterating gives every entry as it stands there."""

    def __init__(self, entries: Callable[[], Iterable[Entry]], lines: Callable[[], Iterable[Line]]) -> None:
        self._entries, self._lines = entries, lines

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries())

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Iterable) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @property
    def questions(self) -> list[Line]:
        """One line for each question, in the order of their charges."""
        return list(self._lines())

    def between(
        self,
        *,
        table: str | None = None,
        since: date | datetime | str | None = None,
        until: date | datetime | str | None = None,
    ) -> list[Line]:
        """The lines about a table, and of the days from `since` to `until`, both included; UTC."""
        first, last = _moment(since, "since"), _moment(until, "until", end=True)

        def wanted(line: Line) -> bool:
            if table is not None and table.lower() not in (name.lower() for name in line.tables):
                return False
            if first is last is None:
                return True
            return line.time is not None and (first or 0) <= line.time < (last or 2**63)

        return [line for line in self.questions if wanted(line)]

    def __str__(self) -> str:
        return statement_text(self.questions)

    __repr__ = __str__


def statement_text(lines: Iterable[Line]) -> str:
    """A table with a head; the question stands last, as long as it is."""
    rows = [_HEAD, *(line.cells for line in lines)]
    if len(rows) == 1:
        return "no questions"
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD) - 1)]
    shown = []
    for row in rows:
        cells = [
            row[0].rjust(widths[0]),
            *(cell.ljust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True)),
        ]
        shown.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(shown)


def statement_csv(lines: Iterable[Line]) -> str:
    """The same for a spreadsheet, with exact prices; no cell begins like a formula."""
    rows: list[tuple[str, ...]] = [
        ("number", "reserved", "people", "analyst", "epsilon", "rho", "delta", "state", "answer", "tables", "sql")
    ]
    for line in lines:
        when = line.document()["reserved"] or ""
        prices = tuple(line.price.get(name, "") for name in ("epsilon", "rho", "delta"))
        ends = (line.state, line.answer or "", " ".join(line.tables), line.sql)
        rows.append((str(line.number), when, line.people, line.analyst or "", *prices, *ends))
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([spreadsheet_cell(cell) for cell in row] for row in rows)
    return written.getvalue()


def lines_of(ledger: Ledger, *, own: str | None = None, after: int = 0) -> Iterator[tuple[Line, int]]:
    """The questions of a ledger after that number, each with its entry's number.

    With `own`, one analyst's alone, numbered as that analyst's history.
    """
    entries = ((entry.sequence, entry) for entry in ledger.entries(after=after))
    questions = (one for one in (entries if own is None else ledger.own(own, after=after)) if one[1].kind == "reserve")
    kinds: dict[str, str] = {}
    while page := list(islice(questions, _PAGE)):
        ends = ledger.ends([entry.sequence for _, entry in page])
        for (number, entry), end in zip(page, ends, strict=True):
            people = str(entry.body["people"])
            kinds[people] = kinds.get(people) or ledger.kind(people)
            yield _line(number, entry, kinds[people], end), entry.sequence


def _line(number: int, entry: Entry, kind: str, end: Entry | None) -> Line:
    body: Any = entry.body
    sha256: Any = None if end is None else end.body.get("sha256")
    price = {_COST[kind]: body["cost"]} | ({} if body["delta"] == "0" else {"delta": body["delta"]})
    tables = tuple(name.rpartition("#")[0] or name for name in body["snapshot"].split(","))
    answer = None if sha256 is None else sha256[:_DIGITS]
    stated = _plan(body["plan"]).get("asked") or {}
    return Line(
        number=number,
        time=body.get("time"),
        people=body["people"],
        analyst=body["analyst"],
        sql=body.get("sql") or _untold(body["question"]),
        price=price,
        asked=stated,
        state=OPEN if end is None else _ENDS[end.kind],
        answer=answer,
        tables=tables,
        request=body["request"],
    )


def _plan(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _untold(question: str) -> str:
    """What stands in place of a text: a part of a profile, or what the ledger calls the question."""
    found = _plan(question)
    return f"profile of {found['profile']}" if "profile" in found else question


def _moment(stated: date | datetime | str | None, name: str, *, end: bool = False) -> int | None:
    """Whole seconds since 1970; a day is meant from its beginning, or as an end to its end."""
    if stated is None:
        return None
    try:
        found = datetime.fromisoformat(stated) if isinstance(stated, str) else stated
    except ValueError:
        raise ParameterError.of(name, f"is a day or a time, such as 2027-01-31; got {stated!r}.") from None
    is_day = len(stated) <= 10 if isinstance(stated, str) else not isinstance(stated, datetime)
    if not isinstance(found, datetime):
        found = datetime(found.year, found.month, found.day)
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return int((found + timedelta(days=1 if is_day and end else 0)).timestamp())
