"""HAVING, ORDER BY, LIMIT and OFFSET against plain Python, on random columns with NULLs."""

from __future__ import annotations

import datetime
import functools
import math
import operator
import random

import numpy as np
import pyarrow as pa
import pytest

from dither.sql.plan.aggregates import ValueColumn
from dither.sql.postprocess.formulas.terms import Part
from dither.sql.postprocess.row_choice import After, Sorting

DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
TIMES = [datetime.datetime(2024, 1, 1, hour, tzinfo=datetime.UTC) for hour in (0, 5, 6)]
VALUES = {
    "region": ["south", "north", "east", None],
    "note": ["", "a", "B", "été", None],
    "age": [0, 1, 2**62, 2**62 - 1, None],
    "insured": [True, False, None],
    "day": [*DAYS, None],
    "seen": [*TIMES, None],
}
LITERALS = {
    "region": ["south", "north", "nowhere"],
    "note": ["", "a", "zz"],
    "age": [0, 1, 7],
    "insured": [True, False],
    "day": DAYS,
    "seen": TIMES,
}
COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def written(value):
    if isinstance(value, bool):
        return str(value).upper()
    return f"'{value}'" if isinstance(value, (str, datetime.date)) else str(value)


def table(dice, groups):
    """Keys, and two noisy columns: whole numbers, and averages some of which are NULL."""
    columns = {name: [dice.choice(values) for _ in range(groups)] for name, values in VALUES.items()}
    columns["n"] = [dice.randint(-5, 5) for _ in range(groups)]
    columns["mean"] = [dice.choice([None, dice.randint(-3, 3) / 2]) for _ in range(groups)]
    return columns


def condition(dice, depth):
    """SQL, and the same in Python as a function of a row to True, False or None."""
    kind = dice.randrange(7) if depth else dice.randrange(4)
    name = dice.choice([*VALUES, "n", "mean"])
    literals = LITERALS.get(name, [0, 1, -1, 0.5])
    if kind == 0 and dice.random() < 0.5:
        return f"{name} IS NOT NULL", lambda row: row[name] is not None
    if kind == 0:
        return f"{name} IS NULL", lambda row: row[name] is None
    if kind == 1 and dice.random() < 0.3:
        low, high = dice.choice(literals), dice.choice(literals)
        return (
            f"{name} NOT BETWEEN {written(low)} AND {written(high)}",
            lambda row: None if row[name] is None else not low <= row[name] <= high,
        )
    if kind == 1:
        low, high = dice.choice(literals), dice.choice(literals)
        return (
            f"{name} BETWEEN {written(low)} AND {written(high)}",
            lambda row: None if row[name] is None else low <= row[name] <= high,
        )
    if kind == 2 and dice.random() < 0.5:
        one = dice.choice(literals)
        return f"{name} NOT IN ({written(one)})", lambda row: None if row[name] is None else row[name] != one
    if kind == 2:
        some = [dice.choice(literals) for _ in range(2)]
        return (
            f"{name} IN ({', '.join(map(written, some))})",
            lambda row: None if row[name] is None else row[name] in some,
        )
    if kind == 3:
        sign, literal = dice.choice(list(COMPARE)), dice.choice(literals)
        return (
            f"{name} {sign} {written(literal)}",
            lambda row: None if row[name] is None else COMPARE[sign](row[name], literal),
        )
    left, holds_left = condition(dice, depth - 1)
    if kind == 4:
        return f"NOT ({left})", lambda row: None if holds_left(row) is None else not holds_left(row)
    right, holds_right = condition(dice, depth - 1)
    if kind == 5:
        return f"({left}) AND ({right})", lambda row: conjunction(holds_left(row), holds_right(row))
    return f"({left}) OR ({right})", lambda row: disjunction(holds_left(row), holds_right(row))


def conjunction(a, b):
    return False if a is False or b is False else None if a is None or b is None else True


def disjunction(a, b):
    return True if a or b else None if a is None or b is None else False


def compared(order):
    """A comparison of rows for sorting, as PostgreSQL orders them."""

    def compare(left, right):
        for name, descending, nulls_first in order:
            a, b = left[name], right[name]
            if a is None or b is None:
                if (a is None) != (b is None):
                    return -1 if (a is None) == nulls_first else 1
            elif a != b:
                return -1 if (a < b) != descending else 1
        return 0

    return functools.cmp_to_key(compare)


def shown(columns, key_types):
    keys = [pa.array(columns[name], key_types[name]) for name in VALUES]
    keys[0] = keys[0].dictionary_encode()
    means = np.array([math.nan if mean is None else mean for mean in columns["mean"]])
    ends = {"lower": means - 1, "upper": means + 1}
    return keys, [ValueColumn("n", np.array(columns["n"], dtype=np.int64)), ValueColumn("mean", means, **ends)]


@pytest.mark.parametrize("seed", range(10))
def test_rows_are_those_of_plain_python(seed, after, key_types, campaign):
    dice = random.Random(seed)
    for _ in range(campaign(40)):
        groups = dice.choice([0, 1, 5, 30])
        columns = table(dice, groups)
        having, holds = condition(dice, 2)
        order = [
            (dice.choice([*VALUES, "n", "mean"]), dice.random() < 0.5, dice.choice([None, True, False]))
            for _ in range(dice.choice([0, 1, 3]))
        ]
        items = [
            name
            + (" DESC" if descending else dice.choice(["", " ASC"]))
            + ("" if nulls is None else " NULLS FIRST" if nulls else " NULLS LAST")
            for name, descending, nulls in order
        ]
        limit, offset = dice.choice([None, 0, 3, 100]), dice.choice([None, 0, 2])
        text = f"SELECT COUNT(*) AS n, AVG(x) AS mean FROM t GROUP BY {', '.join(VALUES)} HAVING {having}"
        text += f" ORDER BY {', '.join(items)}" if items else ""
        text += "" if limit is None else f" LIMIT {limit}"
        text += "" if offset is None else f" OFFSET {offset}"
        found, hidden = after(text)
        assert hidden == ()
        rows = [{name: values[place] for name, values in columns.items()} for place in range(groups)]
        expected = [place for place in range(groups) if holds(rows[place])]
        ordered = [(name, down, down if nulls is None else nulls) for name, down, nulls in order]
        expected.sort(key=lambda place: compared(ordered)(rows[place]))
        expected = expected[offset or 0 :][:limit]
        assert found.rows(*shown(columns, key_types), groups).tolist() == expected, text


def test_ties_stay_in_the_order_of_the_keys():
    column = ValueColumn("n", np.array([1, 2, 1, 2, 1]), half_width=None)
    found = After(order=(Sorting(Part(0), descending=True),)).rows([], [column], 5)
    assert found.tolist() == [1, 3, 0, 2, 4]


def test_numbers_beyond_64_bits_are_sorted_and_compared():
    column = ValueColumn("total", np.array([2**90, -(2**90), 2**90 + 1], dtype=object))
    assert After(order=(Sorting(Part(0)),)).rows([], [column], 3).tolist() == [1, 0, 2]


def test_notes_say_that_noise_chose_the_rows(after):
    found, _ = after("SELECT COUNT(*) AS n FROM t GROUP BY region HAVING n > 1 ORDER BY n LIMIT 3")
    assert "HAVING and LIMIT chose rows by their noisy values" in found.notes()[0]
    assert After(order=(Sorting(0),)).notes() == ()
    assert After(limit=3).notes() == ()
    public, _ = after("SELECT COUNT(*) AS n FROM t GROUP BY region HAVING region > 'a' ORDER BY region LIMIT 3")
    assert public.notes() == ()
