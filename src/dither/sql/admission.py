"""What is refused because it could take too much, before it is charged; each refusal says what fits."""

from __future__ import annotations

from collections.abc import Callable

from dither.errors import UnsupportedQuery
from dither.limits import Limits
from dither.sql.bound import plan
from dither.sql.plan import Scan
from dither.sql.price import PricedQuestion
from dither.sql.work import Work, work


def admit(priced: PricedQuestion, limits: Limits) -> Work:
    """What a question takes at most, or `UnsupportedQuery` if that is above the limits."""
    found = work(priced.aggregates)
    for check in (_characters, _joins, _growth, _texts, _cells, _bytes, _time):
        check(priced, found, limits)
    return found


def _characters(priced: PricedQuestion, found: Work, limits: Limits) -> None:
    most = max(found.characters, found.written)
    if most > limits.max_characters:
        _refuse(
            f"the texts that are computed for each row may have {most:,} characters; at most "
            f"{limits.max_characters:,} are computed",
            "Join fewer or shorter texts: LEFT(text, 100), say.",
        )


def _joins(priced: PricedQuestion, found: Work, limits: Limits) -> None:
    if found.met > limits.max_join_rows_per_owner:
        _refuse(
            f"a join or EXISTS may bring {found.met:,} rows of one owner together; at most "
            f"{limits.max_join_rows_per_owner:,} are",
            _fitting(priced, limits, lambda other: other.met <= limits.max_join_rows_per_owner),
        )


def _growth(priced: PricedQuestion, found: Work, limits: Limits) -> None:
    if found.growth > limits.max_growth:
        _refuse(
            f"joins and aggregates may make {found.growth:,} rows of each row that is read; at most "
            f"{limits.max_growth:,} are made",
            _fitting(priced, limits, lambda other: other.growth <= limits.max_growth),
        )


def _texts(priced: PricedQuestion, found: Work, limits: Limits) -> None:
    """A question may hold twice the texts that its tables have anyway."""
    most = max(limits.max_held_characters, 2 * found.texts)
    if found.held > most:
        _refuse(
            f"joins and groups may hold texts of {found.held:,} characters for each row that is read; at most {most:,} "
            "are held",
            _fitting(priced, limits, lambda other: other.held <= most),
        )


def _fitting(priced: PricedQuestion, limits: Limits, fits: Callable[[Work], bool]) -> str:
    """A number of rows of each owner with which the question is admitted, as large as a search finds."""

    def admitted(rows: int) -> bool:
        other = work(plan(priced.question, rows_per_owner=rows))
        return fits(other) and other.met <= limits.max_join_rows_per_owner and other.growth <= limits.max_growth

    tables = [node.table for node in priced.question.source.walk() if isinstance(node, Scan)]
    low, high = 0, max(table.max_rows_per_owner for table in tables)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if admitted(middle) else (low, middle - 1)
    if low:
        return f"With rows_per_owner={low} it fits."
    return "Ask with fewer joins and shorter texts, or by equalities of keys; tables may declare max_rows."


def _cells(priced: PricedQuestion, found: Work, limits: Limits) -> None:
    if found.cells <= limits.max_cells or (found.selected and not found.declared):
        return
    fit = limits.max_cells // found.measures
    _refuse(
        f"{found.groups:,} groups of {found.measures} noisy numbers each make {found.cells:,}; at most "
        f"{limits.max_cells:,} are computed",
        f"With so many for each group, {fit:,} groups fit; or group by fewer or coarser keys."
        if fit
        else "Ask for fewer numbers.",
    )


def _bytes(priced: PricedQuestion, found: Work, limits: Limits) -> None:
    if found.bytes > limits.max_answer_bytes and not found.selected:
        fit = limits.max_answer_bytes * found.groups // found.bytes
        _refuse(
            f"the answer may take {found.bytes:,} bytes to store; at most {limits.max_answer_bytes:,} are stored",
            f"About {fit:,} groups fit.",
        )


def _time(priced: PricedQuestion, found: Work, limits: Limits) -> None:
    if found.declared and found.seconds > limits.statement_seconds:
        _refuse(
            f"on tables as large as they are declared this may take {found.seconds:,.0f} seconds; a statement may take "
            f"{limits.statement_seconds:,}",
            "Ask with fewer joins, groups and measures, or in parts.",
        )


def _refuse(what: str, hint: str) -> None:
    raise UnsupportedQuery(f"{what}.", hint=hint)
