"""Functions of numbers and conditions, and aggregates, each in PostgreSQL's words."""

from __future__ import annotations

from sqlglot import exp

from dither.sql.text.dialects import window_rules
from dither.sql.text.dialects.call import Call, Rule, built, either_null, of_one, of_two, several, whole


def _rounded(least: int) -> Rule:
    """ROUND(x) and ROUND(x, digits) with at least so many digits, half away from zero."""

    def rule(call: Call) -> exp.Expr:
        call.takes(1, 2)
        return exp.Round(this=call.value(0), **_digits(call, least))

    return rule


def _digits(call: Call, least: int) -> dict[str, exp.Expr]:
    if len(call.arguments) == 1:
        return {}
    digits = call.whole(1, least=least)
    if digits is None:
        raise call.refusal(
            f"{call.name} without a written number of decimals from {least} on is not translated",
            f"Write {call.name}(x, 2).",
        )
    return {"decimals": whole(digits)}


def truncated(*counts: int) -> Rule:
    """TRUNC(x) and TRUNC(x, digits), cut toward zero."""

    def rule(call: Call) -> exp.Expr:
        call.takes(*counts)
        return exp.Trunc(this=call.value(0), **_digits(call, 0))

    return rule


def _rounded_or_cut(call: Call) -> exp.Expr:
    """SQL Server's ROUND(x, digits, how): 0 rounds, anything else cuts."""
    call.takes(2, 3)
    how = 0 if len(call.arguments) == 2 else call.whole(2, least=0)
    if how is None:
        raise call.refusal(
            "a third argument of ROUND that is no written number is not translated", "Write ROUND(x, 2, 1) to cut."
        )
    kind = exp.Trunc if how else exp.Round
    return kind(this=call.value(0), **_digits(Call(call.node, call.name, call.arguments[:2], call.translation), 0))


ROUND, ROUND_UNSIGNED, ROUND_TSQL = _rounded(-18), _rounded(0), _rounded_or_cut


def remainder(call: Call) -> exp.Expr:
    call.takes(2)
    left, right = (exp.Paren(this=value) for value in call.values())
    return exp.Mod(this=left, expression=right)


def remainder_by_number(call: Call) -> exp.Expr:
    """Oracle's MOD(x, 0) is x, so only a written number other than 0 has PostgreSQL's meaning."""
    call.takes(2)
    if not call.whole(1, least=1):
        raise call.refusal("MOD by anything but a written number above 0 is not translated", "Write MOD(x, 10).")
    return remainder(call)


def strict(kind: type[exp.Expr]) -> Rule:
    """GREATEST and LEAST that are NULL as soon as one of the values is."""

    def rule(call: Call) -> exp.Expr:
        call.takes(*range(2, 100))
        first, *rest = call.values()
        return either_null([first, *rest], kind(this=first, expressions=rest))

    return rule


def aggregate_or_strict(aggregate: type[exp.Expr], kind: type[exp.Expr]) -> Rule:
    """SQLite's MIN and MAX: aggregates of one value, else NULL as soon as one of the values is."""
    single, many = of_one(aggregate), strict(kind)
    return lambda call: single(call) if len(call.arguments) == 1 else many(call)


def choice(call: Call) -> exp.Expr:
    """IF(condition, x, y)."""
    call.takes(3)
    condition, yes, no = call.values()
    return exp.Case(ifs=[exp.If(this=condition, true=yes)], default=no)


def choice_by_null(call: Call) -> exp.Expr:
    """NVL2(x, y, z) is y where x is not NULL, else z."""
    call.takes(3)
    value, yes, no = call.values()
    present = exp.Not(this=exp.Is(this=exp.Paren(this=value), expression=exp.Null()))
    return exp.Case(ifs=[exp.If(this=present, true=yes)], default=no)


def is_null(call: Call) -> exp.Expr:
    call.takes(1)
    return exp.Paren(this=exp.Is(this=exp.Paren(this=call.value(0)), expression=exp.Null()))


def null_or_number(call: Call) -> exp.Expr:
    """SQL Server's ISNULL(x, y) has the type of x, which a whole number fits whatever the type is."""
    call.takes(2)
    if call.whole(1, least=-(2**31)) is None:
        raise call.refusal(
            "ISNULL with anything but a whole number as its second argument is not translated", "Write COALESCE(x, y)."
        )
    return exp.Coalesce(this=call.value(0), expressions=[call.value(1)])


def first_of_two(call: Call) -> exp.Expr:
    """IFNULL(x, y)."""
    call.takes(2)
    return exp.Coalesce(this=call.value(0), expressions=[call.value(1)])


def counted(call: Call) -> exp.Expr:
    call.takes(1)
    (value,) = call.values()
    return exp.Count(this=value, big_int=True)


def counted_if(call: Call) -> exp.Expr:
    """COUNTIF(condition) as COUNT(*) FILTER (WHERE condition)."""
    call.takes(1)
    where = exp.Where(this=call.value(0))
    return exp.Filter(this=exp.Count(this=exp.Star(), big_int=True), expression=where)


def most_frequent(call: Call) -> exp.Expr:
    """MODE(x) as MODE() WITHIN GROUP (ORDER BY x); without x it is the beginning of just that."""
    call.takes(0, 1)
    if not call.arguments:
        return exp.Mode()
    order = exp.Order(expressions=[exp.Ordered(this=call.value(0), nulls_first=False)])
    return exp.WithinGroup(this=exp.Mode(), expression=order)


def exact_average(call: Call) -> exp.Expr:
    """An average of whole numbers that is one itself has no place here; of decimal numbers it is PostgreSQL's."""
    call.takes(1)
    if not call.translation.decimal(call.arguments[0]):
        what = "AVG of whole numbers, which is cut to a whole number there, is not translated"
        raise call.refusal(what, "Write AVG(1.0 * x).")
    return exp.Avg(this=call.value(0))


def where_defined(rule: Rule) -> Rule:
    """The same, refused in rows if declared bounds allow values for which it is undefined."""

    def marked(call: Call) -> exp.Expr:
        found = rule(call)
        there = call.translation.vocabulary.name
        found.meta["defined"] = (
            f"{call.name} of values for which it may be undefined is not translated from {there}'s dialect.",
            "Choose them: CASE WHEN x > 0 THEN LN(GREATEST(x, 0.01)) END.",
        )
        return found

    return marked


def common_logarithm(call: Call) -> exp.Expr:
    call.takes(1)
    return exp.Log(this=exp.Literal.number(10), expression=call.value(0))


def power_of_answers(call: Call) -> exp.Expr:
    """SQL Server's POWER has the type of its base, and so no decimals of a whole one."""
    found = of_two(exp.Pow)(call)
    if not found.find(exp.AggFunc, exp.Anonymous):
        raise call.refusal("POWER, which has the type of its base there, is not translated", "Write x * x.")
    return found


# What every dialect that has it means alike.
COMMON: dict[str, Rule] = {
    "COUNT": counted,
    "SUM": of_one(exp.Sum),
    "AVG": of_one(exp.Avg),
    "MIN": of_one(exp.Min),
    "MAX": of_one(exp.Max),
    "VAR_POP": of_one(exp.VariancePop),
    "VAR_SAMP": of_one(exp.Variance),
    "STDDEV_POP": of_one(exp.StddevPop),
    "STDDEV_SAMP": of_one(exp.StddevSamp),
    "MODE": most_frequent,
    "MEDIAN": of_one(exp.Median),
    "PERCENTILE_CONT": of_one(exp.PercentileCont),
    "PERCENTILE_DISC": of_one(exp.PercentileDisc),
    "OWNER_SUM": lambda call: exp.Anonymous(this="OWNER_SUM", expressions=call.values()),
    "OWNER_COUNT": lambda call: exp.Anonymous(this="OWNER_COUNT", expressions=call.values()),
    "ABS": of_one(exp.Abs),
    "SIGN": of_one(exp.Sign),
    "FLOOR": of_one(exp.Floor),
    "CEILING": of_one(exp.Ceil),
    "COALESCE": several(exp.Coalesce),
    "NULLIF": of_two(exp.Nullif),
    **window_rules.WINDOWS,
}
CEIL: dict[str, Rule] = {"CEIL": of_one(exp.Ceil)}
# Dialects agree on these where they are defined; elsewhere they fail, or have NULL, infinity or what is no number.
POWERS: dict[str, Rule] = {
    "SQRT": where_defined(of_one(exp.Sqrt)),
    "EXP": of_one(exp.Exp),
    "POWER": where_defined(of_two(exp.Pow)),
}
POW: dict[str, Rule] = {"POW": POWERS["POWER"]}
LN: dict[str, Rule] = {"LN": where_defined(of_one(exp.Ln))}
LOG10: dict[str, Rule] = {"LOG10": where_defined(common_logarithm)}
LOG_IS_LOG10: dict[str, Rule] = {"LOG": LOG10["LOG10"]}
SAMPLE: dict[str, Rule] = {"VARIANCE": of_one(exp.Variance), "STDDEV": of_one(exp.Stddev)}
POPULATION: dict[str, Rule] = {"VARIANCE": of_one(exp.VariancePop), "STDDEV": of_one(exp.StddevPop)}
IGNORING_NULL: dict[str, Rule] = {"GREATEST": several(exp.Greatest), "LEAST": several(exp.Least)}
STRICT: dict[str, Rule] = {"GREATEST": strict(exp.Greatest), "LEAST": strict(exp.Least)}
MIN_OR_LEAST = aggregate_or_strict(exp.Min, exp.Least)
MAX_OR_GREATEST = aggregate_or_strict(exp.Max, exp.Greatest)
BUCKETS: dict[str, Rule] = {"WIDTH_BUCKET": built(exp.WidthBucket, "this", "min_value", "max_value", "num_buckets")}
IFNULL: dict[str, Rule] = {"IFNULL": first_of_two}
NVL: dict[str, Rule] = {"NVL": first_of_two}
