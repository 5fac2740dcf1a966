"""Questions that aim at limits, steered to the largest that is admitted. The same seed asks the same questions.

Each question has an axis, which says what grows: characters, bits, arguments of functions, the calendar, rows of a
join, parts of a union, totals, groups, measures, ranks of a list. Its size is halved when it is refused and raised when
it is admitted, so that most are near the limit, on either side.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import replace

from threats_limits_relations import (
    Draw,
    Relation,
    chosen_owners,
    day,
    derived,
    events,
    fully_joined,
    function,
    joined,
    lengthened,
    multiplied,
    number,
    numbered,
    person,
    records,
    structured,
    text,
    things,
    totals,
    united,
    with_public_rows,
)

Build = Callable[[Draw, int], str]
AXES: dict[str, tuple[int, Build]] = {}  # by name: the largest size, and how a question of a size is written
TRIES = 5  # questions of one kind, while its size is sought


def axis(name: str, most: int) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        AXES[name] = most, build
        return build

    return register


def any_rows(draw: Draw) -> Relation:
    return draw.choice([events, events, events, person, things, records, chosen_owners])(draw)


# Outputs and keys


def of_number(draw: Draw, value: str, source: Relation, size: int) -> str:
    near = draw.choice([0, 1, size, 2 ** min(size, 62), 74])
    other = draw.choice([*source.numbers, value])
    return draw.choice(
        [
            f"SUM({value})",
            f"SUM({value})",
            f"AVG({value})",
            f"VARIANCE({value})",
            f"COUNT({value})",
            f"COUNT(DISTINCT {value})",
            f"MEDIAN({value})",
            f"MAX({value})",
            f"MODE() WITHIN GROUP (ORDER BY {value})",
            f"PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {value})",
            f"CORR({value}, {other})",
            f"{draw.choice(['REGR_SLOPE', 'REGR_COUNT'])}({other}, {value})",
            f"OWNER_SUM({value}, {-near}, {near + 1})" if source.owner else f"COUNT({value})",
            f"SUM({value}) FILTER (WHERE {source.one})",
            f"COUNT(*) FILTER (WHERE {value} > {near})",
            f"SUM(CASE WHEN {source.one} THEN {value} END)",
            f"SUM(LEAST({value}, {near}))",
        ]
    )


def of_text(draw: Draw, value: str, source: Relation, size: int) -> str:
    near = draw.choice([0, 1, size, 2 * size, size // 2])
    length = draw.choice(
        [f"LENGTH({value})", f"LENGTH({value} || 'a')", f"LENGTH(LEFT({value}, {min(near, 65_536)}))",
         f"LENGTH(TRIM({value}))", f"LENGTH(SUBSTRING({value}, {min(near, 65_000) + 1}))",
         f"LENGTH(RIGHT({value}, {min(near, 65_536)}))", f"LENGTH(UPPER({value}))", f"POSITION('x' IN {value} || 'x')",
         f"LENGTH(CONCAT({value}, 'a'))", f"LENGTH(SPLIT_PART({value}, 'a', {min(near, 65_000) + 1}))"]
    )  # fmt: skip
    return draw.choice(
        [
            of_number(draw, length, source, size),
            of_number(draw, length, source, size),
            f"SUM({length})",
            f"COUNT(DISTINCT {value})",
            f"COUNT(*) FILTER (WHERE {value} LIKE '%x_')",
            f"COUNT(*) FILTER (WHERE {value} > 'x')",
            f"COUNT(*) FILTER (WHERE {length} > {near})",
        ]
    )


def key_of_number(draw: Draw, value: str, size: int) -> str:
    span = draw.choice([2, 7, 1000, 2**20])
    return draw.choice(
        [value, f"{value} % {span}", f"{value} / {span}", f"{value} / {2 ** min(size, 62)}",
         f"WIDTH_BUCKET({value}, 0, {span}, {min(span, 100)})", f"CASE WHEN {value} > {span} THEN 1 ELSE 0 END",
         f"ROUND({value} / {2 ** min(size, 62)})", f"SIGN({value})"]
    )  # fmt: skip


def key_of_text(draw: Draw, value: str, size: int) -> str:
    return draw.choice(
        [f"LENGTH({value} || 'a')", f"LENGTH({value})", f"LENGTH({value}) % 7", f"LEFT({value}, 2)", f"TRIM({value})",
         f"LENGTH({value}) / {max(1, size // 9)}", f"LEFT({value}, {min(size, 65_536)})", f"{value} || 'b'", value,
         f"UPPER({value})", f"RIGHT({value}, 2)", f"SPLIT_PART({value}, ' ', 2)", f"POSITION('a' IN {value})"]
    )  # fmt: skip


def key_of_day(draw: Draw, value: str) -> str:
    unit = draw.choice(["year", "quarter", "month", "week"])
    part = draw.choice(["YEAR", "MONTH", "DAY", "DOW", "DOY", "WEEK", "ISOYEAR", "QUARTER", "HOUR"])
    shown = draw.choice(["YYYY-MM", "MM", "YYYY", "Day", "Q"])
    return draw.choice(
        [f"DATE_TRUNC('{unit}', {value})", f"EXTRACT({part} FROM {value})", value, f"TO_CHAR({value}, '{shown}')"]
    )


def select(draw: Draw, source: Relation, outputs: list[str], keys: list[str], truth: str = "") -> str:
    truths = [f"({part})" for part in (source.where, truth) if part]
    where = f" WHERE {' AND '.join(truths)}" if truths else ""
    items = ", ".join([*(f"{key} AS k{i}" for i, key in enumerate(keys)), *outputs])
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    after = ""
    if draw.random() < 0.1:
        after = draw.choice([" HAVING COUNT(*) > 1", " ORDER BY COUNT(*) DESC LIMIT 2", " ORDER BY 1 LIMIT 3"])
    return f"SELECT {items} FROM {source.sql}{where}{group}{after}"


def maybe_key(draw: Draw, source: Relation) -> list[str]:
    return [draw.choice(source.keys)] if source.keys and draw.random() < 0.25 else []


def maybe_truth(draw: Draw, source: Relation) -> str:
    return source.one if draw.random() < 0.1 else ""


# Axes


@axis("characters", 200_000)
def characters(draw: Draw, size: int) -> str:
    source = lengthened(draw, any_rows(draw), size)
    value = source.grown["text"]
    if draw.random() < 0.4:
        return select(draw, source, ["COUNT(*)"], [key_of_text(draw, value, size)])
    return select(
        draw, source, [of_text(draw, value, source, size)], maybe_key(draw, source), maybe_truth(draw, source)
    )


@axis("characters in one expression", 600_000)
def characters_at_once(draw: Draw, size: int) -> str:
    source = any_rows(draw)
    start, length = text(draw, source, size)
    value = " || ".join([f"({start})" if "CASE" in start else start] * max(1, min(40, size // length)))
    value = draw.choice([value, value, f"LEFT({value}, {min(size, 65_536)})", f"TRIM({value})"])
    if draw.random() < 0.3:
        return select(draw, source, ["COUNT(*)"], [key_of_text(draw, f"({value})", size)])
    return select(draw, source, [of_text(draw, f"({value})", source, size)], maybe_key(draw, source))


@axis("bits", 130)
def bits(draw: Draw, size: int) -> str:
    source = any_rows(draw)
    if draw.random() < 0.6:
        source = multiplied(draw, source, size)
        value = source.grown["number"]
    else:
        value = number(draw, source, size)
    if draw.random() < 0.35:
        return select(draw, source, ["COUNT(*)"], [key_of_number(draw, f"({value})", size)], maybe_truth(draw, source))
    outputs = [of_number(draw, value, source, size) for _ in range(draw.choice([1, 1, 2]))]
    return select(draw, source, outputs, maybe_key(draw, source), maybe_truth(draw, source))


@axis("functions", 130)
def functions(draw: Draw, size: int) -> str:
    """Roots, logarithms and powers of numbers of about so many bits, and of each other."""
    source = any_rows(draw)
    value = function(draw, source, size)
    if draw.random() < 0.4:
        inner, _, owner = derived(source, f"{value} AS n")
        source = Relation(f"({inner}) q", owner, "q.his", ("q.n",), (), (), ("q.his",))
        value = draw.choice(["q.n", "q.n * q.n", function(draw, source, max(1, size // 2))])
    if draw.random() < 0.25:
        return select(draw, source, ["COUNT(*)"], [key_of_number(draw, f"({value})", size)], maybe_truth(draw, source))
    output = of_number(draw, value, source, size)
    return select(draw, source, [output], maybe_key(draw, source), maybe_truth(draw, source))


@axis("sums", 72)
def sums(draw: Draw, size: int) -> str:
    """Of numbers of so many bits, near what a word holds when some of them are added up."""
    source = draw.choice([events, chosen_owners])(draw)
    end = 2**size
    value = draw.choice(
        ["t.top", "t.big", "-t.top", "t.top + t.big", f"LEAST(t.top, {end})", f"LEAST(GREATEST(t.top * 8, 0), {end})",
         f"CASE WHEN {source.one} THEN {end} ELSE {-end} END", f"COALESCE(t.big, {end})", f"t.tiny * {end}",
         f"CASE WHEN {source.one} THEN t.top ELSE {end} END", "t.fix * 2", f"t.tiny * {end} + t.half"]
    )  # fmt: skip
    output = draw.choice(["SUM({0})", "SUM({0})", "AVG({0})", "SUM({0}) FILTER (WHERE t.mark > 0)"]).format(value)
    return select(draw, source, [output], maybe_key(draw, source), maybe_truth(draw, source))


@axis("calendar", 130_000)
def calendar(draw: Draw, size: int) -> str:
    source = any_rows(draw)
    value = day(draw, source, size)
    if draw.random() < 0.4:
        inner, _, owner = derived(source, f"{value} AS d")
        source = Relation(f"({inner}) q", owner, "q.his", (), (), ("q.d",), ("q.his",))
        value = draw.choice(["q.d", "DATE_TRUNC('month', q.d)", day(draw, source, max(1, size // 2))])
    part = f"EXTRACT({draw.choice(['YEAR', 'EPOCH', 'DOY', 'ISOYEAR', 'WEEK'])} FROM {value})"
    if draw.random() < 0.5:
        return select(draw, source, ["COUNT(*)"], [key_of_day(draw, value)], maybe_truth(draw, source))
    output = draw.choice(
        [of_number(draw, part, source, 20), f"MEDIAN({value})", f"MAX({value})", f"COUNT(DISTINCT {value})",
         f"SUM({value} - DATE '1970-01-01')", f"COUNT(*) FILTER (WHERE {value} > DATE '2000-01-01')"]
    )  # fmt: skip
    return select(draw, source, [output], maybe_key(draw, source), maybe_truth(draw, source))


@axis("joins", 20_000)
def joins(draw: Draw, size: int) -> str:
    source = joined(draw, size)
    value = draw.choice([number(draw, source, 31), draw.choice(source.numbers)])
    outputs = draw.choice(
        [["COUNT(*)"], [of_number(draw, value, source, 20)], [of_text(draw, draw.choice(source.texts), source, 9)]]
    )
    return select(draw, source, outputs, maybe_key(draw, source), maybe_truth(draw, source))


@axis("outer joins", 20_000)
def outer_joins(draw: Draw, size: int) -> str:
    source = fully_joined(draw, size)
    outputs = [draw.choice(["COUNT(*)", "COUNT(z.mark)", "SUM(z.half)", of_number(draw, "a0.tiny", source, 20)])]
    return select(draw, source, outputs, maybe_key(draw, source), maybe_truth(draw, source))


@axis("public rows", 20_000)
def public_rows(draw: Draw, size: int) -> str:
    source = with_public_rows(draw, size)
    outputs = [draw.choice(["COUNT(*)", of_number(draw, "a0.half", source, 20), "OWNER_COUNT(3)"])]
    return select(draw, source, outputs, maybe_key(draw, source), maybe_truth(draw, source))


@axis("numbered rows", 70)
def numbered_rows(draw: Draw, size: int) -> str:
    source = numbered(draw, size)
    if draw.random() < 0.2:
        key = key_of_number(draw, draw.choice(source.numbers), size)
        return select(draw, source, ["COUNT(*)"], [key], maybe_truth(draw, source))
    outputs = [of_number(draw, draw.choice(source.numbers), source, size)]
    return select(draw, source, outputs, [], maybe_truth(draw, source))


@axis("declared structure", 300)
def declared_structure(draw: Draw, size: int) -> str:
    """By columns of which an owner's rows have few values, or few rows of each."""
    source = structured(draw, size)
    outputs = [draw.choice(["COUNT(*)", "SUM(a.qty)", "COUNT(DISTINCT a.code)", of_number(draw, "a.qty", source, 40)])]
    few = [f"a.code % {draw.choice([2, 3])}", "LENGTH(a.label)", f"a.qty % {size}", "a.code >= 5"]
    keys = draw.sample([*source.keys, *few], draw.choice([1, 1, 2]))
    return select(draw, source, outputs, keys, maybe_truth(draw, source))


@axis("lists of ranks", 25)
def lists_of_ranks(draw: Draw, size: int) -> str:
    source = draw.choice([events, person, numbered_few])(draw)
    ranks = ", ".join(f"{place / (size + 1):.6f}" for place in range(1, size + 1))
    which, value = draw.choice(["CONT", "DISC"]), draw.choice(source.numbers)
    return select(
        draw,
        source,
        [f"PERCENTILE_{which}(ARRAY[{ranks}]) WITHIN GROUP (ORDER BY {value})"],
        maybe_key(draw, source),
        maybe_truth(draw, source),
    )


def numbered_few(draw: Draw) -> Relation:
    return numbered(draw, 9)


@axis("unions", 45)
def unions(draw: Draw, size: int) -> str:
    source = united(draw, size)
    outputs = [of_number(draw, "u.n", source, 40) if draw.random() < 0.6 else of_text(draw, "u.c", source, 1000)]
    keys = [draw.choice(["u.mark / 10", "LENGTH(u.c) % 5", "u.c"])] if draw.random() < 0.4 else []
    return select(draw, source, outputs, keys, maybe_truth(draw, source))


@axis("totals", 126)
def owner_totals(draw: Draw, size: int) -> str:
    source = totals(draw, size)
    value = draw.choice(
        ["q.total", "q.total", "q.his", "q.last", "q.mean * q.total", "q.total / q.many", "q.many - q.total"]
    )
    if draw.random() < 0.3:
        return select(draw, source, ["COUNT(*)"], [key_of_number(draw, f"({value})", size)])
    return select(draw, source, [of_number(draw, value, source, size)], maybe_key(draw, source))


@axis("groups", 8_000)
def groups(draw: Draw, size: int) -> str:
    """About so many public groups: by a number cut to that many values, or by two."""
    source = draw.choice([events, chosen_owners])(draw)
    source = replace(source, one="t.mark = 74")
    value = draw.choice(["t.wide", "t.half", "t.mark", "t.eid", "LENGTH(t.long)", "t.big", "(t.d - DATE '0001-01-01')"])
    exact = draw.choice([size, size - 1, size + 1]) or 1
    first = draw.choice(
        [f"({value}) % {exact}", f"LEAST(GREATEST({value}, 0), {exact})", f"({value}) % {max(1, exact // 9)}"]
    )
    keys = [first, *maybe_key(draw, source)]
    output = draw.choice(
        [
            "COUNT(*)",
            "SUM(t.half)",
            "COUNT(DISTINCT t.s)",
            "AVG(t.fix)",
            "OWNER_SUM(t.half, 0, 9)",
            "COUNT(DISTINCT t.uid)",
        ]
    )
    return select(draw, source, [output], keys, maybe_truth(draw, source))


@axis("measures", 25)
def measures(draw: Draw, size: int) -> str:
    """Many numbers for each group, most of them about one person."""
    source = events(draw)
    outputs = [
        draw.choice(
            [
                f"COUNT(*) FILTER (WHERE t.mark > {i})",
                f"SUM(CASE WHEN {source.one} THEN t.half ELSE {i} END)",
                f"SUM(LENGTH(t.s || '{i}'))",
                f"COUNT(DISTINCT t.mark % {i + 1})",
                f"AVG(t.half - {i})",
            ]
        )
        for i in range(max(1, size))
    ]
    return select(draw, source, outputs, [draw.choice(["t.g", "t.tiny", "t.mark % 9", "LENGTH(t.s) / 100"])])


class Aiming:
    """One question after the other; say of each whether it was admitted before asking for the next."""

    def __init__(self, seed: int, axes: Collection[str] = ()) -> None:
        self.draw = random.Random(seed)
        self.axes = [name for name in AXES if not axes or name in axes]
        self.turns: list[str] = []
        self.left = 0
        self.axis, self.form, self.low, self.high, self.size = "", "", 0, 0, 0

    def question(self) -> str:
        if not self.left:
            # Each axis comes before one comes again.
            self.turns = self.turns or self.draw.sample(self.axes, len(self.axes))
            self.axis = self.turns.pop()
            self.form, self.left = str(self.draw.random()), TRIES
            self.low, self.high = 0, AXES[self.axis][0] + 1
            self.size = int((self.high - 1) ** self.draw.uniform(0.5, 1))
        self.left -= 1
        return AXES[self.axis][1](random.Random(self.form), self.size)

    def heard(self, admitted: bool) -> None:
        """Halve what was refused; go half of the way up again from what was not."""
        if admitted:
            self.low = self.size
        else:
            self.high = self.size
        self.size = (self.low + self.high) // 2 if self.low else self.size // 2
        if not self.low < self.size < self.high:
            self.left = 0
