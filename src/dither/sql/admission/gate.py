"""What is refused because it could take too much, before it is charged; each refusal says what fits."""

from __future__ import annotations

from collections.abc import Iterator

from dither.errors import UnsupportedQuery
from dither.policy.limits import Limits
from dither.sql.admission.inlining import MOST_WORDS
from dither.sql.admission.work import UNDECLARED_ROWS, Work, work
from dither.sql.bounding.aggregations import plan
from dither.sql.expressions import Expression
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.lower import lower
from dither.sql.plan.aggregates.formula import Formula
from dither.sql.plan.nodes import Scan
from dither.sql.plan.question import Question
from dither.sql.pricing.price import PricedQuestion

MOST_WRITTEN = 500_000  # characters of a statement, which an engine takes seconds to read
# For each noisy number that there may be: columns that are held at once, and steps that are done one after the other.
_SHOWN, _STEPS = 4, 20
_TOGETHER = 2**20  # characters of all statements of a question
_RECORDED = 2**20  # characters of a plan, which the ledger keeps for good
_MATCHED = 4_000_000  # characters for one row: a hundredth of a second


def admit(priced: PricedQuestion, limits: Limits, dialect: Dialect) -> Work:
    """What a question takes at most, or `UnsupportedQuery` if that is above the limits.

    Whatever the engine's dialect cannot say shows here too, before anything is charged.
    """
    written = [len(lower(aggregate, dialect).sql) for aggregate in priced.aggregates]
    for characters, most in ((max(written), MOST_WRITTEN), (sum(written), _TOGETHER)):
        if characters > most:
            what = f"written out for the engine this has {characters:,} characters; at most {most:,} are run."
            raise UnsupportedQuery(what, hint="Compute less on values computed in derived tables, or ask in parts.")
    found = work(priced.aggregates, limits.max_cells)
    for what, hint in (*_above(found, limits), *_above_when_shown(priced.question, found, limits)):
        raise UnsupportedQuery(f"{what}.", hint=hint or _fewer_rows(priced, limits))
    recorded = len(priced.recipe())
    if recorded > _RECORDED:
        what = f"the plan of this query takes {recorded:,} characters to record; at most {_RECORDED:,} are recorded."
        raise UnsupportedQuery(what, hint="Ask for fewer values at once, or with shorter conditions.")
    return found


def _above_when_shown(question: Question, found: Work, limits: Limits) -> Iterator[tuple[str, str]]:
    """Columns of the answer and what is computed from them, which takes nothing but this process's time and memory."""
    columns, steps = len(question.keys) + len(question.outputs), words_after(question)
    for many, most, of_what in (
        (columns, _SHOWN, "columns"),
        (steps, _STEPS, "steps of formulas, HAVING and ORDER BY"),
    ):
        if found.groups * many > most * limits.max_cells:
            what = f"{found.groups:,} groups with {many:,} {of_what} make {found.groups * many:,}; at most"
            fit = f"With so many for each group, {most * limits.max_cells // many:,} groups fit."
            yield f"{what} {most * limits.max_cells:,} are computed", fit


def words_after(question: Question) -> int:
    """How many numbers and truths are computed for each group after the noise."""
    formulas = [output.aggregate.term for output in question.outputs if isinstance(output.aggregate, Formula)]
    after = question.after
    trees = [] if after is None else [after.having, *(item.by for item in after.order)]
    return sum(1 for tree in (*formulas, *trees) if isinstance(tree, Expression) for _ in tree.walk())


def _above(found: Work, limits: Limits) -> Iterator[tuple[str, str]]:
    """What is above its limit, and what to do; nothing is said about that where fewer rows of each owner may help."""
    most = max(found.characters, found.written)
    if most > limits.max_characters:
        what = f"the texts that are computed for each row may have {most:,} characters; at most"
        yield f"{what} {limits.max_characters:,} are computed", "Join fewer or shorter texts: LEFT(text, 100), say."
    if found.matched > _MATCHED:
        what = f"for each row, texts are compared and matched as if they had {found.matched:,} characters; at most"
        yield f"{what} {_MATCHED:,} are", "Write shorter LIKE patterns, with fewer _ after the first %."
    if found.words > MOST_WORDS:
        what = f"written out, with all derived columns, this query has {found.words:,} words; at most"
        hint = (
            "Write FILTER in place of WHERE, join a public table in place of a long CASE, or nest fewer derived tables."
        )
        yield f"{what} {MOST_WORDS:,} are run", hint
    if found.met > limits.max_join_rows_per_owner:
        what = f"a join or EXISTS may bring {found.met:,} rows of one owner together; at most"
        yield f"{what} {limits.max_join_rows_per_owner:,} are", ""
    if found.growth > limits.max_growth:
        what = f"joins and aggregates may make {found.growth:,} rows of each row that is read; at most"
        yield f"{what} {limits.max_growth:,} are made", ""
    most = max(limits.max_held_characters, 2 * found.texts)
    if found.held > most:
        what = f"joins and groups may hold texts of {found.held:,} characters for each row that is read; at most"
        yield f"{what} {most:,} are held", ""
    if found.cells > limits.max_cells and not found.selected:
        what = f"{found.groups:,} groups of {found.measures} noisy numbers each make {found.cells:,}; at most"
        fit = limits.max_cells // found.measures
        hint = f"With so many for each group, {fit:,} groups fit; or group by fewer or coarser keys."
        yield f"{what} {limits.max_cells:,} are computed", hint if fit else "Ask for fewer numbers."
    if found.bytes > limits.max_answer_bytes and not found.selected:
        what = f"the answer may take {found.bytes:,} bytes to store; at most {limits.max_answer_bytes:,} are stored"
        yield what, f"About {limits.max_answer_bytes * found.groups // found.bytes:,} groups fit."
    if found.seconds > limits.statement_seconds:
        size = "tables as large as declared" if found.declared else f"{UNDECLARED_ROWS:,} rows"
        what = f"on {size} this may take {float(found.seconds):,.0f} seconds; a question may take"
        hint = "Ask with fewer joins, groups and measures, or in parts."
        declare = "" if found.declared else " Or have max_rows declared, if the tables are smaller."
        yield f"{what} {limits.statement_seconds:,}", hint + declare


def _fewer_rows(priced: PricedQuestion, limits: Limits) -> str:
    """A number of rows of each owner with which the question is admitted, as large as a search finds."""

    def fits(rows: int | None, *, first: bool = False) -> bool:
        other = plan(priced.question, rows_per_owner=rows, where_first=first)
        return not any(_above(work(other, limits.max_cells), limits))

    if priced.strategy.where_first and fits(priced.strategy.rows):
        return 'With limit_rows="before_where" it fits.'
    tables = [node.table for node in priced.question.source.walk() if isinstance(node, Scan)]
    low, high = 0, max(table.max_rows_per_owner for table in tables)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    if low:
        order = "" if fits(low, first=True) else ', limit_rows="before_where"'
        return f"With rows_per_owner={low}{order} it fits."
    return (
        "Ask with fewer joins and fewer texts at once, or by equalities of keys; the curator may declare what tables "
        "really have (max_length of texts, max_rows), or raise the limit."
    )
