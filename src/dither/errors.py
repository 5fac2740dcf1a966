"""One hierarchy of errors. A message says what is wrong, what is allowed and how to fix it; none ever contains data."""

from __future__ import annotations

from dither.escape import visible_lines


class DitherError(Exception):
    """Root of every error that dither raises on purpose. Names that it quotes cannot act on a terminal."""

    def __str__(self) -> str:
        return visible_lines(super().__str__())


class ParameterError(DitherError, ValueError):
    """A parameter (epsilon, delta, a bound, a size ...) is outside what is allowed."""


class RelationMismatch(ParameterError):
    """Guarantees or sensitivities under different neighbour relations were combined."""


class NotPublic(DitherError):
    """The figure asked for depends on private data, so it cannot be shown."""


class PolicyError(DitherError):
    """A table, people, analyst or column declaration is missing, wrong or contradictory."""


class UnsupportedQuery(DitherError):
    """The SQL text is outside the supported grammar; carries the place and the nearest supported form."""

    def __init__(self, what: str, *, line: int | None = None, column: int | None = None, hint: str = "") -> None:
        self.what, self.line, self.column, self.hint = what, line, column, hint
        place = "" if line is None else f"line {line}, column {column}: "
        super().__init__(f"{place}{what}" + (f" {hint}" if hint else ""))


class BudgetExceeded(DitherError):
    """The price does not fit into what is left of a budget. Nothing was charged and no data were read."""


class PeopleFrozen(DitherError):
    """Nothing new is answered about these people until the curator thaws them. Nothing was charged."""

    def __init__(self, people: str) -> None:
        super().__init__(
            f"questions about the people {people!r} are frozen until their curator thaws them with "
            f"thaw({people!r}). Nothing was charged; answers that were paid for can still be asked for again."
        )


class Busy(DitherError):
    """Every worker that the asker may have runs another statement. Nothing was charged and no data were read."""

    def __init__(self, workers: int, share: int) -> None:
        super().__init__(
            f"no worker is free: {workers} run at once, and at most {share} for one analyst; try again. "
            "Nothing was charged."
        )


class QueryFailed(DitherError):
    """The query failed after it was charged. Always the same words, whatever the cause."""

    def __init__(self) -> None:
        super().__init__("the query failed after it was charged; the charge stands and no answer exists")


class LedgerError(DitherError):
    """The ledger cannot be used: unreadable folder, full disk, unsupported version."""


class LedgerCorrupt(LedgerError):
    """The ledger was edited, cut or rolled back; nothing is served from it."""
