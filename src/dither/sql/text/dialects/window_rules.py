"""Functions of windows and of levels of GROUP BY, which every dialect that has them means alike.

What goes without saying differs: where NULL stands in an order, and which frame LAST_VALUE has. That is looked up where
orders and frames are.
"""

from __future__ import annotations

from sqlglot import exp

from dither.sql.text.dialects.call import Call, Rule, built, of_one


def _numbered(rule: Rule, least: int) -> Rule:
    """The same with a written whole number in the second place, or in the only one."""

    def checked(call: Call) -> exp.Expr:
        place = min(1, len(call.arguments) - 1) if least else 1
        if place < len(call.arguments) and call.whole(place, least=least) is None:
            what = f"{call.name} without a written whole number from {least} on is not translated"
            raise call.refusal(what, f"Write {call.name}({'' if call.name == 'NTILE' else 'x, '}{least + 1}).")
        return rule(call)

    return checked


def _levels(call: Call) -> exp.Expr:
    call.takes(*range(1, 17))
    return exp.Grouping(expressions=call.values())


WINDOWS: dict[str, Rule] = {
    "ROW_NUMBER": built(exp.RowNumber),
    "RANK": built(exp.Rank),
    "DENSE_RANK": built(exp.DenseRank),
    "PERCENT_RANK": built(exp.PercentRank),
    "CUME_DIST": built(exp.CumeDist),
    "NTILE": _numbered(of_one(exp.Ntile), 1),
    "LAG": _numbered(built(exp.Lag, "this", "offset", "default", optional=2), 0),
    "LEAD": _numbered(built(exp.Lead, "this", "offset", "default", optional=2), 0),
    "FIRST_VALUE": of_one(exp.FirstValue),
    "LAST_VALUE": of_one(exp.LastValue),
    "NTH_VALUE": _numbered(built(exp.NthValue, "this", "offset"), 1),
    "GROUPING": _levels,
}
