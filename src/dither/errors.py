"""One hierarchy of errors. A message says what is wrong, what is allowed and how to fix it; none ever contains data.

Every class has a `code`, which is stable, and typed `fields`. Programs read these; words are for people, and an edge
that is not Python says its own hints instead of `hint` (docs/ask/errors.md lists all of them).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dither.escape import visible_lines

Figures = Mapping[str, str] | None


class DitherError(Exception):
    """Root of every error that dither raises on purpose. Names that it quotes cannot act on a terminal."""

    code: ClassVar[str] = "error"
    fields: ClassVar[tuple[str, ...]] = ()  # attributes: texts, whole numbers, None, or lists or mappings of texts

    def __init__(self, what: str = "", *, hint: str = "") -> None:
        self.what, self.hint = what, hint  # what is wrong, and how a user of Python mends it
        super().__init__(f"{what} {hint}" if hint else what)

    def __str__(self) -> str:
        return visible_lines(super().__str__())

    def document(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {"code": self.code, "message": str(self), "fields": {name: getattr(self, name) for name in self.fields}}


class ParameterError(DitherError, ValueError):
    """A parameter (epsilon, delta, a bound, a size ...) is outside what is allowed."""

    code = "parameter_invalid"
    fields: ClassVar[tuple[str, ...]] = ("name",)
    name: str | None = None
    rule = ""

    @classmethod
    def of(cls, name: str, rule: str, hint: str = "") -> ParameterError:
        """About the parameter of that name, with the rule that it breaks."""
        error = cls(f"{name} {rule}", hint=hint)
        error.name, error.rule = name, rule
        return error


class RelationMismatch(ParameterError):
    """Guarantees or sensitivities under different neighbour relations were combined."""

    code, fields = "relation_mismatch", ()


class ErrorUnpriced(ParameterError):
    """No price can be found for the error that was asked for: that depends on more (on what a profile may tell)."""

    code, fields = "error_unpriced", ("column", "by_profile")

    def __init__(self, column: str, what: str, *, by_profile: bool = False) -> None:
        super().__init__(what, hint=f"{'make one with profile(), or ' if by_profile else ''}state epsilon= or rho=.")
        self.column, self.by_profile = column, by_profile


class DeltaUnneeded(ParameterError):
    """A delta was stated for a question that has no use for one."""

    code, fields = "delta_unneeded", ()

    def __init__(self) -> None:
        super().__init__("delta= pays for keys taken from the data; all keys of this query are public: leave it out.")


class NotPublic(DitherError):
    """The figure asked for depends on private data, so it cannot be shown."""

    code = "not_public"


class PolicyError(DitherError):
    """A table, people, analyst or column declaration is missing, wrong or contradictory."""

    code = "policy_invalid"
    unknown_table: str | None = None  # the name that no table has, for edges that mark it in a text


class TableExists(PolicyError):
    """A table of that name is registered already."""

    code, fields = "table_exists", ("table", "alike")

    def __init__(self, table: str, *, alike: bool) -> None:
        declared = "declared just like this" if alike else "declared differently"
        hint = "ask it as it is, use refresh for new data, or drop it first to declare it anew (what was spent stays"
        super().__init__(
            f"table {table!r} is registered already, {declared}, and nothing was loaded:", hint=f"{hint} spent)."
        )
        self.table, self.alike = table, alike


class ProfileMissing(PolicyError):
    """A table has no profile of the data that it has now."""

    code, fields = "profile_missing", ("table",)

    def __init__(self, table: str) -> None:
        super().__init__(f"table {table!r} has no profile of its current data;", hint="make one with profile().")
        self.table = table


class AnalystMissing(PolicyError):
    """There is no analyst of that name. This is said to the curator; others hear only that they are strangers."""

    code, fields = "analyst_missing", ("analyst", "known", "people")

    def __init__(self, analyst: str, known: list[str], people: list[str]) -> None:
        super().__init__(
            f"there is no analyst {analyst!r};",
            hint=f"make one with a cap on what may be spent: curator.analyst({analyst!r}, budget=dt.ApproxDP(1, "
            '"1e-7"), people=...).',
        )
        self.analyst, self.known, self.people = analyst, known, people


class CapMissing(PolicyError):
    """An analyst asks about people for whom the curator gave no cap."""

    code, fields = "cap_missing", ("analyst", "people")

    def __init__(self, analyst: str, people: str) -> None:
        super().__init__(
            f"analyst {analyst!r} has no cap on people {people!r}, so nothing can be asked;",
            hint=f"the curator makes one with curator.analyst({analyst!r}, budget=..., people={people!r}).",
        )
        self.analyst, self.people = analyst, people


class RecordsRefused(PolicyError):
    """A load was to be strict, and some records do not fit their declarations: counts, never values."""

    code, fields = "records_refused", ("table", "found")

    def __init__(self, table: str, found: list[str]) -> None:
        super().__init__(
            f"table {table!r} is refused, as strict=True asks: {'; '.join(found)}.",
            hint="Correct the source or the declarations, or load it without strict=True to have them sanitised.",
        )
        self.table, self.found = table, found


class ColumnMissing(PolicyError):
    """A source has no column of that name; with `delimiter`, since its fields seem to be separated by that."""

    code, fields = "column_missing", ("column", "has", "delimiter")

    def __init__(self, column: str, has: list[str], *, hint: str = "", delimiter: str | None = None) -> None:
        if delimiter is not None:
            hint = f"Its fields look separated by {delimiter!r}: state delimiter={delimiter!r}."
        super().__init__(f"the source has no column {column!r}; it has: {', '.join(has) or 'none'}.", hint=hint)
        self.column, self.has, self.delimiter = column, has, delimiter


class OutsideDeclared(PolicyError):
    """A value that was declared, such as a default, lies outside the declared values of its column."""

    code, fields = "outside_declared", ("value", "declared")

    def __init__(self, value: str, declared: str) -> None:
        super().__init__(f"{value} lies outside the declared values of {declared}.")
        self.value, self.declared = value, declared


class Stranger(DitherError):
    """Who asks is nobody whom the curator made. Always the same words, whatever was asked and whoever exists."""

    code = "stranger"

    def __init__(self) -> None:
        super().__init__("there is no analyst of this name.")


class UnsupportedQuery(DitherError):
    """The SQL text is outside the supported grammar; carries the place and the nearest supported form."""

    code, fields = "query_unsupported", ("what", "line", "column", "hint")

    def __init__(self, what: str, *, line: int | None = None, column: int | None = None, hint: str = "") -> None:
        place = "" if line is None else f"line {line}, column {column}: "
        super().__init__(f"{place}{what}", hint=hint)
        self.what, self.line, self.column = what, line, column


class BudgetExceeded(DitherError):
    """The price does not fit into what is left of a budget. Nothing was charged and no data were read.

    What was asked for and the most that fits are figures by name, and `whose` budget is "people" or "analyst": if told.
    """

    code, fields = "budget_exceeded", ("asked", "left", "whose")

    def __init__(self, what: str, *, asked: Figures = None, left: Figures = None, whose: str | None = None) -> None:
        self.asked, self.left, self.whose = asked and dict(asked), left and dict(left), whose
        super().__init__(self._price() + what)

    def _price(self) -> str:
        return f"the price {', '.join(f'{name}={value}' for name, value in self.asked.items())} " if self.asked else ""

    @property
    def predicate(self) -> str:
        """What is said of the price, for edges that write a price in their own way."""
        return self.what.removeprefix(self._price())


class PeopleFrozen(DitherError):
    """Nothing new is answered about these people until the curator thaws them. Nothing was charged."""

    code, fields = "people_frozen", ("people",)

    def __init__(self, people: str) -> None:
        super().__init__(
            f"questions about the people {people!r} are frozen until their curator thaws them. Nothing was charged; "
            "answers that were paid for can still be asked for again.",
            hint=f"To thaw them: thaw({people!r}).",
        )
        self.people = people


class Busy(DitherError):
    """Every worker that the asker may have runs another statement. Nothing was charged and no data were read.

    There are so many workers, at most so many for one analyst, and the asker waited so many seconds.
    """

    code, fields = "busy", ("workers", "share", "waited")

    def __init__(self, workers: int, share: int, *, waited: float | None = None) -> None:
        super().__init__(
            f"no worker is free: {workers} run at once, and at most {share} for one analyst; try again. "
            "Nothing was charged."
        )
        self.workers, self.share, self.waited = workers, share, waited


class QueryFailed(DitherError):
    """The query failed after it was charged. Always the same words, whatever the cause."""

    code = "query_failed"

    def __init__(self) -> None:
        super().__init__("the query failed after it was charged; the charge stands and no answer exists")


class NotComputed(DitherError):
    """What was to be computed from noisy answers failed on their values; they are stored, and free to read."""

    code, fields = "not_computed", ("questions",)

    def __init__(self, questions: list[str], why: str = "") -> None:
        super().__init__(
            f"what is computed from the noisy answer failed on its values{f' ({why})' if why else ''}; the answer "
            "itself was paid for and is stored.",
            hint=f"To read it, ask at the same price, which is free: {'; '.join(questions)}",
        )
        self.questions = questions


class LedgerError(DitherError):
    """The ledger cannot be used: unreadable folder, full disk, unsupported version."""

    code = "ledger_unusable"


class LedgerMissing(LedgerError):
    """There is no ledger where one was to be opened."""

    code, fields = "ledger_missing", ("folder", "exists")

    def __init__(self, folder: str, *, exists: bool) -> None:
        what = f"there is no ledger in {folder};" if exists else f"there is no folder {folder} for the ledger;"
        super().__init__(what, hint=f"make one with `dither init`{', or restore the folder' if exists else ''}.")
        self.folder, self.exists = folder, exists


class LedgerCorrupt(LedgerError):
    """The ledger was edited, cut or rolled back; nothing is served from it."""

    code = "ledger_corrupt"


class LoadWarning(UserWarning):
    """To the curator, once for a load: much of the data was cut or changed, or the budget is too large for so few.

    It says how much, exactly, so it is no more for analysts than the load report.
    """


class WideBounds(UserWarning):
    """A certified bound is farther from the other one than a thousandth: the budget of work for one reading ran out."""
