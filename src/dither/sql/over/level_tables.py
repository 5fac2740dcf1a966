"""The rows of all levels of a GROUP BY in one table, from the tables of those that were measured."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from sqlglot import exp

from dither.sql.over.column_names import called
from dither.sql.over.grouped_select import GroupedSelect
from dither.sql.over.grouping_levels import Level


def level_tables(grouped: GroupedSelect, origin: Mapping[Level, Level], tables: Mapping[Level, str]) -> exp.Query:
    """UNION ALL of the levels in the order of GROUP BY: keys that a level has not are NULL, and its bits are 1."""
    rows = [_level(grouped, level, origin[level], tables[origin[level]]) for level in grouped.levels]
    # The level with the most keys says what type each column has.
    made: exp.Query = reduce(lambda left, right: exp.Union(this=left, expression=right, distinct=False), rows)
    return made


def _level(grouped: GroupedSelect, level: Level, source: Level, table: str) -> exp.Query:
    made = exp.Select().from_(exp.Table(this=exp.to_identifier(table, quoted=True)))
    for place in range(len(grouped.keys)):
        key = exp.column(exp.to_identifier(grouped.key(place), quoted=True)) if place in level else exp.Null()
        made.append("expressions", called(key, grouped.key(place)))
    for place in range(len(grouped.values)):
        value: exp.Expr = exp.column(exp.to_identifier(grouped.value(place), quoted=True))
        made.append("expressions", called(value if level == source else exp.Sum(this=value), grouped.value(place)))
    for place in range(len(grouped.keys)):
        bit = exp.Literal.number(0 if place in level else 1)
        made.append("expressions", called(bit, grouped.grouping(place)))
    if level != source and level:
        keys = [exp.column(exp.to_identifier(grouped.key(place), quoted=True)) for place in level]
        made.set("group", exp.Group(expressions=keys))
    return made
