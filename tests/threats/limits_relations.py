"""Relations that grow: what follows FROM in a question that aims at a limit, and the columns that it offers.

Every builder takes a size, which says how far to go: characters of a text, bits of a number, months of a shift, rows of
an owner that a join makes. Most of it is about the tables of `extremes`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

Draw = random.Random
MOST_LITERAL = 1000


@dataclass(frozen=True)
class Relation:
    """What follows FROM, and how its columns are written, by kind; `one` is true for one person alone."""

    sql: str
    owner: str
    one: str
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    where: str = ""
    grown: dict[str, str] = field(default_factory=dict)  # the column of a kind that has grown to the size


def events(draw: Draw, alias: str = "t") -> Relation:
    def named(*names: str) -> tuple[str, ...]:
        return tuple(f"{alias}.{name}" for name in names)

    one = draw.choice(
        [f"{alias}.mark = 74", f"{alias}.uid = 74", f"({alias}.mark > 70 AND {alias}.mark < 80)", f"{alias}.mark >= 74"]
    )
    return Relation(
        f"t {alias}" if alias != "t" else "t",
        f"{alias}.uid",
        one,
        named("mark", "tiny", "half", "wide", "big", "top", "fix", "money"),
        named("w", "s", "long"),
        named("d", "early", "late", "at"),
        named("tiny", "flag", "g", "one"),
    )


def person(draw: Draw) -> Relation:
    return Relation("p", "p.uid", "p.mark = 74", ("p.age", "p.score"), ("p.name",), ("p.born",), ("p.age",))


def records(draw: Draw) -> Relation:
    return Relation("r", "", "r.v > 5", ("r.v",), ("r.note",), ("r.day",), ())


def things(draw: Draw) -> Relation:
    one = draw.choice(["b.mark = 74", "(b.mark = 74 AND a.code >= 0)"])
    kind = draw.choice(["JOIN", "LEFT JOIN"])
    sql = f"c a JOIN t b ON a.eid = b.eid {kind} pub e ON a.code = e.code"
    numbers = ("a.qty", "e.factor", "b.wide", "b.half")
    return Relation(sql, "b.uid", one, numbers, ("a.label", "e.title", "b.w"), ("b.d",), ("a.code", "b.tiny"))


def joined(draw: Draw, size: int) -> Relation:
    """The events of an owner with themselves, so often that one owner has about `size` rows."""
    base = events(draw, "a0")
    count, sql = 1, "t a0"
    while 4**count < size and count < 7:
        kind = draw.choice(["JOIN", "LEFT JOIN"])
        also = draw.choice(["", f" AND a0.tiny <= a{count}.tiny", f" AND a{count}.mark = 74"])
        sql += f" {kind} t a{count} ON a0.uid = a{count}.uid{also}"
        count += 1
    last = f"a{count - 1}"
    numbers = (*base.numbers, f"{last}.wide", f"{last}.half")
    return replace(base, sql=sql, numbers=numbers, texts=("a0.w", f"{last}.s"))


def fully_joined(draw: Draw, size: int) -> Relation:
    """As `joined`, the last of them by FULL JOIN; or before a RIGHT JOIN."""
    base = joined(draw, max(4, size // 4))
    also = draw.choice(["", " AND z.mark = 74", " AND a0.tiny < z.tiny", " AND 2 < 1"])
    if draw.random() < 0.3:
        return replace(base, sql=f"{base.sql} RIGHT JOIN t z ON a0.uid = z.uid{also}", owner="z.uid", one="z.mark = 74")
    sql = f"{base.sql} FULL JOIN t z ON a0.uid = z.uid{also}"
    return replace(base, sql=sql, owner="COALESCE(a0.uid, z.uid)", one="(a0.mark = 74 OR z.mark = 74)")


def with_public_rows(draw: Draw, size: int) -> Relation:
    """The events beside many public rows, so often that one owner has about `size` rows."""
    base, sql, count = events(draw, "a0"), "t a0", 1
    while 4 * 6**count < size and count < 5:
        kind = draw.choice(["JOIN", "LEFT JOIN"])
        on = draw.choice([f"a0.tiny <= e{count}.factor", f"a0.mark BETWEEN e{count}.code AND e{count}.factor", "1 < 2"])
        sql += f" CROSS JOIN pub e{count}" if on == "1 < 2" else f" {kind} pub e{count} ON {on}"
        count += 1
    return replace(base, sql=sql)


def numbered(draw: Draw, size: int) -> Relation:
    """Rows with their places among their owner's, and values of rows beside them; or with a query as a value."""
    value = number(draw, events(draw), min(size, 60))
    also = draw.choice(["", "", ", t.tiny", ", LEFT(t.long, 65000) || t.w", ", t.d"])
    order = draw.choice(["t.tiny", "t.d DESC", "t.top, t.eid", "t.fix", "t.at NULLS FIRST", f"({value}) DESC"])
    over = f"OVER (PARTITION BY t.uid{also} ORDER BY {order})"
    row = draw.choice(
        [f"LAG({value}) {over}", f"LEAD({value}, {draw.choice([2, 3, 900])}) {over}", f"RANK() {over}",
         f"DENSE_RANK() {over} * {size}"]
    )  # fmt: skip
    own = "(SELECT COUNT(*) + COALESCE(MAX(i.half), 0) FROM t i WHERE i.uid = t.uid AND i.mark = 74)"
    other = "(SELECT COUNT(DISTINCT i.long) - COALESCE(MIN(i.mark), 0) FROM t i WHERE i.uid = t.uid)"
    public = draw.choice(["(SELECT MAX(factor) FROM pub)", own, other, f"ROW_NUMBER() {over}"])
    inner = f"SELECT t.uid, t.mark, {row} AS n, {public} AS m FROM t"
    if draw.random() < 0.3:
        again = draw.choice(["LAG(z.n)", "LEAD(z.m)", "ROW_NUMBER()", "DENSE_RANK()"])
        inner = (
            f"SELECT z.uid, z.mark, z.m, {again} OVER (PARTITION BY z.uid ORDER BY z.n, z.mark) AS n FROM ({inner}) z"
        )
    return Relation(f"({inner}) q", "q.uid", "q.mark = 74", ("q.n", "q.m", "q.mark"), (), (), ())


def structured(draw: Draw, size: int) -> Relation:
    """Rows of which declared structure says how they lie, filtered so that as little as possible need be known anew."""
    where = draw.choice(["", "", "a.code IS NOT NULL", f"a.code IN (0, 9, {size % 7})", "a.code >= 1 AND a.qty > 0"])
    sql = draw.choice(["c a", "c a", "c a JOIN t b ON a.eid = b.eid", "(SELECT eid, code, qty, label FROM c) a"])
    return Relation(
        sql, "", draw.choice(["a.qty > 5", "a.code = 9"]), ("a.qty",), ("a.label",), (), ("a.code", "a.label"), where
    )


def united(draw: Draw, size: int) -> Relation:
    """About `size` SELECTs over each other, of columns whose ranges differ."""
    count = max(2, min(size, 38))
    choices = [
        ("t", "half", "s"), ("t", "tiny", "w"), ("t", "wide", "LEFT(long, 9)"), ("p", "age", "name"),
        ("t", "mark", "long"), ("t", "top", "w"), ("t", "mark * 3", "s || 'a'"), ("p", "score", "TRIM(name)"),
    ]  # fmt: skip
    used = draw.sample(choices, draw.choice([1, 2, len(choices)]))
    parts = [
        f"SELECT uid, mark, {number} AS n, {text} AS c FROM {name}"
        for name, number, text in (draw.choice(used) for _ in range(count))
    ]
    sql = f"({' UNION ALL '.join(parts)}) u"
    return Relation(sql, "u.uid", "u.mark = 74", ("u.n", "u.mark"), ("u.c",), (), ())


def totals(draw: Draw, size: int) -> Relation:
    """One row an owner, or one for each of an owner's keys; what is added up has about `size` bits."""
    value = number(draw, events(draw), size)
    key = draw.choice(["", "", ", g", ", tiny", ", flag"])
    where = draw.choice(["", f" WHERE {draw.choice(['tiny > 0', 'mark = 74', 'LENGTH(s) > 3'])}"])
    having = draw.choice(["", "", " HAVING COUNT(*) > 1", " HAVING MAX(mark) = 74"])
    inner = (
        f"SELECT uid{key}, MAX(mark) AS mark, COUNT(*) AS many, SUM({value}) AS total, AVG(half) AS mean, "
        "MIN(mark) AS first, MAX(big) AS last, SUM(wide) FILTER (WHERE mark = 74) AS his, "
        f"MEDIAN({draw.choice(['half', 'big', value])}) AS middle, "
        f"COUNT(DISTINCT {draw.choice(['long', 'tiny', 's || w', value])}) AS kinds "
        f"FROM t{where} GROUP BY uid{key}{having}"
    )
    numbers = ("q.many", "q.total", "q.mean", "q.his", "q.mark", "q.first", "q.last", "q.middle", "q.kinds")
    keys = (f"q.{key[2:]}",) if key else ("q.many",)
    return Relation(f"({inner}) q", "q.uid", "q.mark = 74", numbers, (), (), keys)


def chosen_owners(draw: Draw) -> Relation:
    """Rows kept by what their owner has elsewhere."""
    word = draw.choice(["EXISTS", "NOT EXISTS"])
    inner = draw.choice(["i.mark = 74", "i.mark = t.mark AND i.big >= t.big", "LENGTH(i.s) > LENGTH(t.w)"])
    where = draw.choice(
        [
            f"{word} (SELECT 1 FROM t i WHERE i.uid = t.uid AND {inner})",
            "t.uid IN (SELECT uid FROM t GROUP BY uid HAVING MAX(mark) = 74)",
            f"{word} (SELECT 1 FROM c i WHERE i.eid = t.eid AND i.qty > 0)",
            f"{word} (SELECT 1 FROM t i WHERE i.uid = t.uid AND i.s || i.w = t.w || t.s)",
            "t.uid NOT IN (SELECT uid FROM t WHERE mark = 74)",
            "t.half > (SELECT COALESCE(MEDIAN(i.half), 0) FROM t i WHERE i.uid = t.uid AND i.mark > 70)",
        ]
    )
    return replace(events(draw), where=where)


# Values that grow


def number(draw: Draw, source: Relation, size: int) -> str:
    """Of about `size` bits: a product of columns, perhaps with one person's at another end than all others'."""
    known = {"tiny": 1, "mark": 10, "half": 31, "wide": 50, "big": 62, "top": 62, "fix": 62, "money": 44, "qty": 40,
             "factor": 40, "v": 45, "age": 7, "score": 40}  # fmt: skip
    parts: list[str] = []
    bits = 0
    while bits < size and len(parts) < 12:
        fitting = [name for name in source.numbers if known.get(name.split(".")[-1], 62) <= size - bits + 1]
        part = draw.choice(fitting or list(source.numbers))
        parts.append(part)
        bits += known.get(part.split(".")[-1], 62)
    text = " * ".join(parts) or source.numbers[0]
    other = draw.choice(source.numbers)
    return draw.choice(
        [
            text,
            text,
            f"({text}) + {other}",
            f"CASE WHEN {source.one} THEN {text} ELSE -({text}) END",
            f"CASE WHEN {source.one} THEN {2 ** min(size, 100)} ELSE {-(2 ** min(size, 100))} END",
            f"({text}) / NULLIF({other}, 0)",
            f"({text}) % ({other})",
            f"-({text}) - 1",
            f"ABS({text})",
            f"ROUND({text}, {draw.choice([-3, 0, 2])})",
            f"COALESCE({text}, {2 ** min(size, 62)})",
            f"GREATEST({text}, {other})",
            f"LEAST({text}, 0)",
            f"CAST({text} AS {draw.choice(['BIGINT', 'INTEGER', 'NUMERIC(38, 2)', 'SMALLINT'])})",
            f"NULLIF({text}, {other})",
            f"FLOOR({text})",
            f"SIGN({text}) * ({other})",
            f"CAST({text} AS FLOAT)",
        ]
    )


def function(draw: Draw, source: Relation, size: int) -> str:
    """A root, logarithm or power of a number of about so many bits."""
    value = draw.choice([number(draw, source, size), number(draw, source, size), draw.choice(source.numbers)])
    other = draw.choice(source.numbers)
    small = f"LEAST(GREATEST({value}, -{size}), {size})"
    return draw.choice(
        [
            f"SQRT({value})",
            f"SQRT(ABS({value}))",
            f"LN({value})",
            f"LN(ABS({value}) + 1)",
            f"LOG({value})",
            f"LOG({draw.choice(['2', '0.5', '1.2', '1000000'])}, {value})",
            f"EXP({small})",
            f"EXP({small} / 4.0)",
            f"EXP(-ABS({value}))",
            f"POWER({value}, {draw.choice([0, 1, 2, 3, 7, -1, -2])})",
            f"POWER(ABS({value}), {draw.choice(['0.5', '-0.5', '0.000001', '1.5'])})",
            f"POWER({draw.choice(['2', '1.5', '0.5', '10'])}, {small})",
            f"CAST({value} AS {draw.choice(['FLOAT', 'DOUBLE PRECISION', 'REAL'])})",
            f"ROUND(SQRT(ABS({value})), 2) * {other}",
            f"CASE WHEN {source.one} THEN EXP({small}) ELSE -SQRT(ABS({value})) END",
            f"LN(SQRT(ABS({value})) + 0.000001)",
        ]
    )


def day(draw: Draw, source: Relation, size: int) -> str:
    """Moved by about `size` months or days, or truncated several times."""
    value = draw.choice(source.days)
    unit = draw.choice(["year", "quarter", "month", "week", "day"])
    for _ in range(draw.choice([1, 1, 2, 3])):
        sign = draw.choice("+-")
        value = draw.choice(
            [
                f"DATE_TRUNC('{draw.choice([unit, 'month', 'week', 'hour'])}', {value})",
                f"({value} {sign} INTERVAL '{size} {draw.choice(['months', 'days', 'years', 'hours', 'weeks'])}')",
                f"CAST({value} AS DATE)",
                f"CASE WHEN {source.one} THEN {value} ELSE {draw.choice(source.days)} END",
                f"GREATEST({value}, {draw.choice(source.days)})",
                f"({value} AT TIME ZONE '{draw.choice(['UTC', 'Asia/Tokyo', 'America/New_York'])}')",
            ]
        )
    return value


def literal(draw: Draw, most: int) -> str:
    letter = draw.choice(["x", "é", "😀", " ", "''"])
    return "'" + letter * max(1, min(most, MOST_LITERAL)) + "'"


def text(draw: Draw, source: Relation, size: int) -> tuple[str, int]:
    """A text to start from, and about how many characters it can have."""
    column = draw.choice(source.texts)
    longest = {"w": 3, "s": 1000, "long": 65_536, "title": 500, "name": 40}.get(column.split(".")[-1], 1000)
    most = max(1, min(size, MOST_LITERAL))
    cut = max(1, min(size, longest))
    return draw.choice(
        [
            (column, longest),
            (f"LEFT({column}, {cut})", cut),
            (f"SUBSTRING({column}, {draw.choice([1, 2, cut])}, {cut})", cut),
            (f"TRIM({column})", longest),
            (f"{draw.choice(['UPPER', 'LOWER'])}({column})", longest),
            (f"RIGHT({column}, {cut})", cut),
            (f"SPLIT_PART({column}, {draw.choice([chr(39) + 'x' + chr(39), literal(draw, 2)])}, 2)", longest),
            (f"CONCAT({column}, {literal(draw, most)}, {column})", 2 * longest + most),
            (f"CASE WHEN {source.one} THEN {literal(draw, most)} ELSE LEFT({column}, 0) END", most),
            (f"CASE WHEN {source.one} THEN {literal(draw, most)} ELSE LEFT({column}, 0) END", most),
            (f"CASE WHEN {source.one} THEN {column} ELSE LEFT({column}, 1) END", longest),
            (f"COALESCE({column}, {literal(draw, most)})", max(most, longest)),
            (f"{column} || {literal(draw, most)}", longest + most),
        ]
    )


def derived(source: Relation, columns: str) -> tuple[str, str, str]:
    """A SELECT of these columns, with the owner and whether the row is the one person's; both as later levels say."""
    where = f" WHERE {source.where}" if source.where else ""
    uid = f"{source.owner} AS uid, " if source.owner else ""
    return (
        f"SELECT {uid}{source.one} AS his, {columns} FROM {source.sql}{where}",
        "uid, " * bool(uid),
        "q.uid" * bool(uid),
    )


LEVELS: tuple[Callable[[Draw, str, str], str], ...] = (
    lambda draw, many, one: many,
    lambda draw, many, one: many,
    lambda draw, many, one: f"CASE WHEN {one} THEN {many} ELSE c END",
    lambda draw, many, one: f"CASE WHEN {one} THEN {many} ELSE LEFT(c, 0) END",
    lambda draw, many, one: f"COALESCE({many}, c)",
    lambda draw, many, one: f"TRIM({many})",
    lambda draw, many, one: f"UPPER({many})",
    lambda draw, many, one: f"CONCAT({many}, {literal(draw, 3)})",
    lambda draw, many, one: f"{many} || {literal(draw, 3)}",
)


def lengthened(draw: Draw, source: Relation, size: int) -> Relation:
    """The source as a derived table whose text c has up to `size` characters, by concatenating it level by level."""
    start, length = text(draw, source, size)
    number_ = draw.choice(source.numbers)
    sql, uid, owner = derived(source, f"{number_} AS n, {start} AS c")
    times, level = max(1, size // length), 0
    while times >= 2 and level < 7:
        by = min(times, draw.choice([2, 2, 3, 5, 8, 16]))
        grown = draw.choice(LEVELS)(draw, " || ".join(["c"] * by), "his")
        sql = f"SELECT {uid}his, n, {grown} AS c FROM ({sql}) q{level}"
        times, level = times // by, level + 1
    return Relation(f"({sql}) q", owner, "q.his", ("q.n",), ("q.c",), (), ("q.his",), grown={"text": "q.c"})


def multiplied(draw: Draw, source: Relation, size: int) -> Relation:
    """The source as a derived table whose number n has about `size` bits, squared level by level."""
    levels = draw.choice([0, 1, 1, 2, 3])
    start = number(draw, source, max(1, size >> levels))
    word = draw.choice(source.texts) if source.texts else "'a'"
    sql, uid, owner = derived(source, f"{word} AS c, {start} AS n")
    for level in range(levels):
        grown = draw.choice(["n * n", "n * n", "CASE WHEN his THEN n * n ELSE -n END", "n * n - n", "n * ABS(n)"])
        sql = f"SELECT {uid}his, c, {grown} AS n FROM ({sql}) q{level}"
    return Relation(f"({sql}) q", owner, "q.his", ("q.n",), ("q.c",), (), ("q.his",), grown={"number": "q.n"})
