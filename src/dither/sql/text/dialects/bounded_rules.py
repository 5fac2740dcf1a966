"""BigQuery's aggregates with contribution bounds, which stand in SELECT WITH DIFFERENTIAL_PRIVACY alone."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.sql.text.dialects import number_rules
from dither.sql.text.dialects.call import Call, Rule, either_null, of_one, whole

_GROUP, _ROW = "contribution_bounds_per_group", "contribution_bounds_per_row"


def _bounded(name: str, plain: Rule, bounded: Callable[[Call, exp.Expr, exp.Expr], exp.Expr]) -> Rule:
    """One rule without bounds, another with them."""

    def rule(call: Call) -> exp.Expr:
        *rest, last = call.arguments or [exp.Null()]
        if not isinstance(last, exp.Kwarg):
            return plain(call)
        called = str(last.this.name).lower()
        if called != name or not call.translation.private:
            what = f"the argument {called[:40]!r} of {call.name} is not translated"
            hint = f"{name} stands here in SELECT WITH DIFFERENTIAL_PRIVACY alone."
            raise call.refusal(what, hint)
        ends = last.expression.expressions if isinstance(last.expression, exp.Tuple) else []
        if len(ends) != 2 or not all(_is_number(end) for end in ends):
            raise call.refusal(f"{name} that are no two written numbers are not translated", f"Write {name} => (0, 5).")
        return bounded(Call(call.node, call.name, rest, call.translation), ends[0], ends[1])

    return rule


def _is_number(node: exp.Expr) -> bool:
    inner = node.this if isinstance(node, exp.Neg) else node
    return isinstance(inner, exp.Literal) and not inner.is_string


def _sum(call: Call, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    call.takes(1)
    return exp.Anonymous(this="OWNER_SUM", expressions=[call.value(0), low, high])


def _count(call: Call, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    call.takes(1)
    if not isinstance(low, exp.Literal) or str(low.this) != "0":
        raise call.refusal("a count that is clamped from below is not translated", f"Write {_GROUP} => (0, 5).")
    (value,) = call.arguments
    if isinstance(value, exp.Star):
        return exp.Anonymous(this="OWNER_COUNT", expressions=[high])
    if isinstance(value, exp.Distinct):
        raise call.refusal("a clamped count of different values is not translated", "Leave the bounds out.")
    gone = exp.Is(this=exp.Paren(this=call.value(0)), expression=exp.Null())
    present = exp.Case(ifs=[exp.If(this=gone, true=whole(0))], default=whole(1))
    return exp.Anonymous(this="OWNER_SUM", expressions=[present, low, high])


def _percentile(call: Call, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    call.takes(2)
    value = call.value(0)
    inside = exp.Least(this=exp.Greatest(this=value, expressions=[low]), expressions=[high])
    order = exp.Order(expressions=[exp.Ordered(this=either_null([value], inside), nulls_first=False)])
    return exp.WithinGroup(this=exp.PercentileCont(this=call.value(1)), expression=order)


def _average(call: Call) -> exp.Expr:
    if call.translation.private:
        what = "AVG, which averages the averages of owners there, is not translated"
        raise call.refusal(what, "Write SUM(x) / COUNT(x), or average a derived table of owners' averages.")
    return of_one(exp.Avg)(call)


def _no_average(call: Call, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    return _average(call)


RULES: dict[str, Rule] = {
    "SUM": _bounded(_GROUP, of_one(exp.Sum), _sum),
    "COUNT": _bounded(_GROUP, number_rules.counted, _count),
    "AVG": _bounded(_GROUP, _average, _no_average),
    "PERCENTILE_CONT": _bounded(_ROW, of_one(exp.PercentileCont), _percentile),
}
