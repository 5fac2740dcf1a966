"""What may be done with answers: which syntax nodes may occur over noisy rows, and which of their arguments be set.

It can name nothing but tables of noisy rows, so that this is no guard of privacy: it keeps to functions whose meaning
is known, that read no file, clock or dice, and that take bounded time.
"""

from __future__ import annotations

from sqlglot import exp

from dither.sql.text import grammar
from dither.sql.text.advice import Advice
from dither.sql.text.parse import enough, unsupported, without_zone
from dither.sql.text.source import Source

_ONE, _TWO = frozenset({"this"}), frozenset({"this", "expression"})
_QUERY = {"order", "limit", "offset", "with_"}

# Aggregates over private rows alone, and clauses that have another shape here.
_NOT_HERE: tuple[type[exp.Expr], ...] = (
    *(exp.Anonymous, exp.WithinGroup, exp.Mode, exp.PercentileCont, exp.PercentileDisc, exp.WidthBucket),
    *(exp.Group, exp.Select, exp.Union, exp.AtTimeZone, exp.Interval),
)

ALLOWED: dict[type[exp.Expr], frozenset[str]] = {
    **{node: names for node, names in grammar.ALLOWED.items() if node not in _NOT_HERE},
    exp.Select: grammar.ALLOWED[exp.Select] | {"qualify", "windows"},
    exp.Union: _TWO | _QUERY | {"distinct"},
    exp.Group: frozenset({"expressions", "all"}),
    exp.Div: _TWO | {"typed", "safe"},
    exp.Qualify: _ONE,
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over", "alias"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    # An answer has a name alone: with one before it, a name would be the engine's own.
    exp.Table: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Log: _TWO,
    exp.Concat: frozenset({"expressions", "safe", "coalesce"}),
    exp.NullSafeEQ: _TWO,
    exp.NullSafeNEQ: _TWO,
    # windows only
    exp.Rank: frozenset(),
    exp.DenseRank: frozenset(),
    exp.PercentRank: frozenset(),
    exp.CumeDist: frozenset(),
    exp.RowNumber: frozenset(),
    exp.Ntile: _ONE,
    exp.Lag: frozenset({"this", "offset", "default"}),
    exp.Lead: frozenset({"this", "offset", "default"}),
    exp.FirstValue: _ONE,
    exp.LastValue: _ONE,
    exp.NthValue: frozenset({"this", "offset"}),
}
RANKS = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.RowNumber, exp.Ntile)
MOVED = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)

_HINT = (
    "Over answers stand + - * / %, comparisons, CASE, ABS, ROUND, FLOOR, CEIL, SQRT, LN, LOG, EXP, POWER, COUNT, SUM, "
    "AVG, MIN, MAX, MEDIAN, and as windows RANK, ROW_NUMBER, LAG, LEAD and the like."
)


def check(tree: exp.Expr, source: Source) -> None:
    """Refuse whatever is not known to be harmless over noisy rows."""
    for node in tree.walk():
        enough(node, source)
        if type(node) not in ALLOWED:
            raise source.refusal(node, *_unsupported(node, source))
        without_zone(node, source)
        enough(node, source)
        check_clauses(node, source)
        if isinstance(node, (*RANKS, *MOVED)) and node.find_ancestor(exp.Window) is None:
            raise source.refusal(node, "this function needs OVER (...).", "Write RANK() OVER (ORDER BY n DESC).")


def _unsupported(node: exp.Expr, source: Source) -> tuple[str, str]:
    """What is wrong with a node; that it stands over answers only where it could stand elsewhere."""
    if type(node) in grammar.ALLOWED and not isinstance(node, exp.Anonymous):
        word = source.written(node) or (node.sql_name() if isinstance(node, exp.Func) else "this")
        return f"{word[:40].upper()} is not supported over answers.", _HINT
    what, hint = unsupported(node, source, Advice(None))
    return what, _HINT if hint in (grammar.OTHERWISE, grammar.AGGREGATES) or "{" in hint else hint


def check_clauses(node: exp.Expr, source: Source) -> None:
    """Refuse an argument of a node that has no meaning here."""
    for name, value in node.args.items():
        if name not in ALLOWED[type(node)] and value is not None and value is not False and value != []:
            words, what, hint = grammar.ARGUMENTS.get(name, ((), "this clause is not supported over answers.", _HINT))
            at = source.keyword(*words) if words else None
            raise source.refusal(node if at is None else at, what, hint if "{" not in hint else _HINT)
