"""Random questions over the whole grammar, one small method a form. The same seed gives the same questions.

Every form has a name and can be left out by it; the tables are those of the population.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeVar

from dither.policy.columns import Bool, Category, Column, Date, Fixed, Int, Text, Timestamp

Kinds = dict[type[Column], str]
KINDS: Kinds = {Int: "number", Fixed: "number", Bool: "bool", Date: "date", Timestamp: "time", Category: "label"}
FEW_KEYS = 400  # how many values a key may have, so that answers stay small


@dataclass(frozen=True)
class Named:
    """A column as the question writes it."""

    sql: str
    column: Column

    @property
    def kind(self) -> str:
        return KINDS.get(type(self.column), "text")


@dataclass(frozen=True)
class Source:
    """What follows FROM, the columns it offers, how the owner is written, and what stands before SELECT."""

    sql: str
    columns: tuple[Named, ...]
    owner: str
    before: str = ""
    where: str = ""


Method = TypeVar("Method", bound=Callable[..., object])
FORMS: dict[str, dict[str, str]] = {"source": {}, "truth": {}, "key": {}, "output": {}, "after": {}, "number": {}}


EVERYDAY: set[str] = set()  # forms that are compared with another engine, not with the plain-Python reference


def form(place: str, name: str, *, everyday: bool = False) -> Callable[[Method], Method]:
    """Registers a method as one form at a place of the grammar."""

    def register(method: Method) -> Method:
        FORMS[place][name] = method.__name__
        EVERYDAY.update([name] if everyday else [])
        return method

    return register


def supported() -> set[str]:
    """The names of all forms."""
    return {name for names in FORMS.values() for name in names}


class Generator:
    """Draws questions; `forms` are the names of those switched on (all, unless given)."""

    def __init__(
        self,
        seed: int,
        tables: dict[str, dict[str, Column]],
        forms: Collection[str] | None = None,
        *,
        shown: bool = False,
    ) -> None:
        self.draw = random.Random(seed)
        self.tables = tables
        self.on = {place: [n for n in names if forms is None or n in forms] for place, names in FORMS.items()}
        self.shown = shown  # every key is among the items, so that rows can be told apart
        self.used: list[str] = []

    def pick(self, place: str, *arguments: object) -> object:
        name = self.draw.choice(self.on[place])
        self.used.append(name)
        return getattr(self, FORMS[place][name])(*arguments)

    def question(self) -> str:
        """One question. What it is made of is in `used` afterwards."""
        self.used = []
        draw = self.draw
        source: Source = self.pick("source")  # type: ignore[assignment]
        keys = [self.pick("key", source) for _ in range(draw.choice([0, 0, 1, 1, 1, 2]))] if self.on["key"] else []
        keys = [str(key) for key in dict.fromkeys(keys) if key]
        outputs = [f"{self.pick('output', source)} AS o{i}" for i in range(draw.randint(1, 3))]
        items = outputs + [f"{key} AS k{i}" for i, key in enumerate(keys) if self.shown or draw.random() < 0.8]
        draw.shuffle(items)
        truths = [source.where] if source.where else []
        truths += [self.truth(source, draw.randint(0, 2))] if draw.random() < 0.7 else []
        where = f" WHERE {' AND '.join(f'({truth})' for truth in truths)}" if truths else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        after = str(self.pick("after", outputs)) if self.on["after"] and draw.random() < 0.3 else ""
        return f"{source.before}SELECT {', '.join(items)} FROM {source.sql}{where}{group}{after}"

    # Sources

    def table(self, name: str, alias: str) -> tuple[Named, ...]:
        return tuple(Named(f"{alias}.{column}", kind) for column, kind in self.tables[name].items())

    @form("source", "table")
    def one_table(self) -> Source:
        name = self.draw.choice(["t", "t", "t", *(name for name in ("p", "c") if name in self.tables)])
        alias = self.draw.choice([name, f"{name} AS a", f"{name} b"])
        called = alias.split()[-1]
        columns = self.table(name, called)
        if self.draw.random() < 0.5:
            columns = tuple(replace(column, sql=column.sql.split(".")[1]) for column in columns)
        return Source(alias, columns, self.draw.choice(["uid", f"{called}.uid"]))

    @form("source", "rows of their own")
    def rows_of_their_own(self) -> Source:
        return self.draw.choice(
            [
                Source("r", self.table("r", "r"), ""),
                Source("r JOIN pub ON r.v = pub.code", self.table("r", "r") + self.table("pub", "pub"), ""),
                Source("(SELECT v, kind FROM r WHERE w > 0) q", (Named("q.v", Int(0, 100)),), ""),
            ]
        )

    @form("source", "join public")
    def join_public(self) -> Source:
        side = self.draw.choice(["JOIN", "INNER JOIN", "LEFT JOIN"])
        name, on = self.draw.choice([("t", "a.n = b.code"), ("c", "b.code = a.code"), ("t", "a.h = b.code")])
        return Source(f"{name} a {side} pub b ON {on}", self.table(name, "a") + self.table("pub", "b"), "a.uid")

    @form("source", "join owner")
    def join_owner(self) -> Source:
        side = self.draw.choice(["JOIN", "LEFT JOIN"])
        left, right = self.draw.choice([("t", "p"), ("p", "t"), ("t", "t"), ("p", "c")])
        on = self.draw.choice(["a.uid = b.uid", "b.uid = a.uid AND a.uid = b.uid"])
        return Source(f"{left} a {side} {right} b ON {on}", self.table(left, "a") + self.table(right, "b"), "a.uid")

    @form("source", "join chain")
    def join_chain(self) -> Source:
        side = self.draw.choice(["JOIN", "LEFT JOIN"])
        return Source(f"c a {side} t b ON a.eid = b.eid", self.table("c", "a") + self.table("t", "b"), "a.uid")

    @form("source", "join in where")
    def join_in_where(self) -> Source:
        on = self.draw.choice(["a.uid = b.uid AND a.n = d.code", "d.code = a.h AND b.uid = a.uid"])
        columns = self.table("t", "a") + self.table("p", "b") + self.table("pub", "d")
        return Source(self.draw.choice(["t a, p b, pub d", "pub d, t a, p b"]), columns, "b.uid", where=on)

    @form("source", "join using")
    def join_using(self) -> Source:
        side = self.draw.choice(["JOIN", "LEFT JOIN"])
        left, right, key = self.draw.choice([("p", "t", "uid"), ("c", "t", "eid"), ("c", "pub", "code")])
        columns = tuple(c for name, a in ((left, "a"), (right, "b")) for c in self.table(name, a) if c.sql[2:] != key)
        return Source(f"{left} a {side} {right} b USING ({key})", columns, "a.uid")

    @form("source", "join after left join")
    def join_after_left_join(self) -> Source:
        columns = self.table("t", "a") + self.table("pub", "b") + self.table("pub", "d")
        last = self.draw.choice(
            ["JOIN pub d ON b.weight = d.code", "LEFT JOIN pub d ON d.code = b.weight AND b.rate > 0.5"]
        )
        return Source(f"t a LEFT JOIN pub b ON a.n = b.code AND a.x > b.weight {last}", columns, "a.uid")

    @form("source", "join of totals")
    def join_of_totals(self) -> Source:
        inner = "SELECT uid, COUNT(*) AS many, SUM(n) AS total FROM t GROUP BY uid"
        side = self.draw.choice(["JOIN", "LEFT JOIN"])
        columns = (*self.table("p", "a"), Named("b.many", Int(0, 4)), Named("b.total", Int(0, 200)))
        return Source(f"p a {side} ({inner}) b ON a.uid = b.uid", columns, "a.uid")

    @form("source", "chained with")
    def chained_with(self) -> Source:
        before = (
            "WITH v AS (SELECT uid, n, flag FROM t), q AS (SELECT v.uid, v.n + 1 AS m, v.flag FROM v WHERE v.n < 40) "
        )
        return Source("q", (Named("q.m", Int(1, 51)), Named("q.flag", Bool())), "q.uid", before=before)

    @form("source", "join several")
    def join_several(self) -> Source:
        columns = self.table("c", "a") + self.table("t", "b") + self.table("p", "d") + self.table("pub", "e")
        return Source(
            "c a JOIN t b ON a.eid = b.eid JOIN p d ON b.uid = d.uid LEFT JOIN pub e ON a.code = e.code",
            columns,
            self.draw.choice(["a.uid", "b.uid", "d.uid"]),
        )

    def _inner(self, name: str) -> tuple[str, tuple[Named, ...]]:
        """A row-level SELECT with the owner, and its columns under new names."""
        source = Source(name, self.table(name, name), f"{name}.uid")
        chosen = self.draw.sample(source.columns, min(5, len(source.columns)))
        items = [f"{column.sql} AS c{i}" for i, column in enumerate(chosen)]
        where = f" WHERE {self.truth(source, 1)}" if self.draw.random() < 0.5 else ""
        columns = tuple(Named(f"q.c{i}", column.column) for i, column in enumerate(chosen))
        return f"SELECT {name}.uid AS who, {', '.join(items)} FROM {name}{where}", columns

    @form("source", "derived rows")
    def derived_rows(self) -> Source:
        text, columns = self._inner(self.draw.choice(["t", "p", "c"]))
        return Source(f"({text}) AS q", columns, "q.who")

    @form("source", "with rows")
    def with_rows(self) -> Source:
        text, columns = self._inner(self.draw.choice(["t", "p", "c"]))
        return Source("q", columns, "q.who", before=f"WITH q AS ({text}) ")

    @form("source", "derived by owner")
    def derived_by_owner(self) -> Source:
        source = Source("t", self.table("t", "t"), "t.uid")
        where = f" WHERE {self.truth(source, 1)}" if self.draw.random() < 0.5 else ""
        having = self.draw.choice(["", "", " HAVING COUNT(*) > 1", " HAVING SUM(t.x) > 0 AND MAX(t.n) < 40"])
        inner = (
            "SELECT t.uid, SUM(t.x) AS total, COUNT(*) AS many, COUNT(t.amount) AS some, AVG(t.amount) AS mean, "
            "MAX(t.n) - MIN(t.n) AS span, SUM(t.x) / COUNT(*) AS each, SUM(t.n) FILTER (WHERE t.flag) AS flagged "
            f"FROM t{where} GROUP BY t.uid{having}"
        )
        columns = (
            Named("q.total", Int(-1000, 4000)),
            Named("q.many", Int(0, 4, nullable=False, default=0)),
            Named("q.some", Int(0, 4, nullable=False, default=0)),
            Named("q.mean", Fixed(-1000, 1000, decimals=8)),
            Named("q.span", Int(-50, 50)),
            Named("q.each", Int(-100, 1000)),
            Named("q.flagged", Int(0, 200)),
        )
        return Source(f"({inner}) q", columns, "q.uid")

    @form("source", "derived by owner and key")
    def derived_by_owner_and_key(self) -> Source:
        inner = "SELECT uid, g, SUM(amount) AS total, COUNT(*) AS many FROM t GROUP BY uid, g"
        columns = (
            Named("q.g", self.tables["t"]["g"]),
            Named("q.total", Fixed(-1000, 4000)),
            Named("q.many", Int(0, 4, nullable=False, default=0)),
        )
        return Source(f"({inner}) q", columns, "q.uid")

    @form("source", "more totals by owner", everyday=True)
    def more_totals_by_owner(self) -> Source:
        inner = (
            "SELECT uid, MEDIAN(x) AS middle, COUNT(DISTINCT n) AS some, COUNT(DISTINCT s) AS words, MIN(day) AS first,"
            " BOOL_OR(flag) AS ever, BOOL_AND(x > 3) AS always FROM t GROUP BY uid"
        )
        columns = (
            Named("q.middle", Fixed(-100, 1000, decimals=1)),
            Named("q.some", Int(0, 4, nullable=False, default=0)),
            Named("q.words", Int(0, 4, nullable=False, default=0)),
            Named("q.first", self.tables["t"]["day"]),
            Named("q.ever", self.tables["t"]["flag"]),
            Named("q.always", self.tables["t"]["flag"]),
        )
        return Source(f"({inner}) q", columns, "q.uid")

    @form("source", "anti-join", everyday=True)
    def anti_join(self) -> Source:
        found = self.draw.choice(["b.uid IS NULL", "b.uid IS NOT NULL", "b.uid IS NULL OR a.age > 20"])
        sides = self.draw.choice(["p a LEFT JOIN t b", "t b RIGHT JOIN p a"])
        columns = self.table("p", "a")
        return Source(
            f"{sides} ON a.uid = b.uid AND b.x > {self.draw.randint(-50, 900)}", columns, "a.uid", where=found
        )

    @form("source", "full join", everyday=True)
    def full_join(self) -> Source:
        left, right = self.draw.choice([("p", "t"), ("t", "p"), ("t", "t"), ("p", "c"), ("c", "t")])
        also = self.draw.choice(["", " AND b.uid = a.uid"]) + self.draw.choice(["", " AND 1 < 2"])
        found = self.draw.choice(["", "", "a.uid IS NULL", "b.uid IS NULL OR a.uid IS NULL"])
        columns = self.table(left, "a") + self.table(right, "b")
        on = f"a.uid = b.uid{also}"
        return Source(f"{left} a FULL JOIN {right} b ON {on}", columns, "COALESCE(a.uid, b.uid)", where=found)

    @form("source", "full join of several", everyday=True)
    def full_join_of_several(self) -> Source:
        columns = self.table("p", "a") + self.table("t", "b") + self.table("c", "d")
        last = self.draw.choice(["JOIN", "LEFT JOIN", "FULL JOIN"])
        owner = "COALESCE(a.uid, b.uid)"
        sql = (
            f"p a FULL JOIN t b ON a.uid = b.uid AND b.x > {self.draw.randint(-50, 900)} {last} c d ON d.uid = {owner}"
        )
        return Source(sql, columns, f"{owner[:-1]}, d.uid)" if last == "FULL JOIN" else owner)

    @form("source", "later right join", everyday=True)
    def later_right_join(self) -> Source:
        columns = self.table("c", "a") + self.table("t", "b") + self.table("p", "d")
        word = self.draw.choice(["JOIN", "LEFT JOIN"])
        left = self.draw.choice([f"c a {word} t b ON a.eid = b.eid", f"(c a {word} t b ON a.uid = b.uid)"])
        right = f"RIGHT JOIN p d ON a.uid = d.uid AND a.qty > {self.draw.randint(-1, 9)}"
        turned = f"p d LEFT JOIN (c a {word} t b ON a.uid = b.uid) ON a.uid = d.uid"
        return Source(self.draw.choice([f"{left} {right}", turned]), columns, "d.uid")

    @form("source", "many public rows", everyday=True)
    def many_public_rows(self) -> Source:
        word = self.draw.choice(["JOIN", "LEFT JOIN"])
        name = self.draw.choice(["t", "c"])
        value = {"t": "a.n", "c": "a.qty"}[name]
        on = self.draw.choice(
            [f"{value} BETWEEN b.weight AND b.code", f"{value} > b.weight AND {value} <= b.code", f"{value} < b.code",
             f"{value} = b.weight", f"b.weight = {value} AND b.kind = 'old'", "1 < 2"]
        )  # fmt: skip
        join = f"{name} a {word} pub b ON {on}"
        if on == "1 < 2":
            join = f"{name} a CROSS JOIN pub b"
        return Source(join, self.table(name, "a") + self.table("pub", "b"), "a.uid")

    @form("source", "query as a value", everyday=True)
    def query_as_a_value(self) -> Source:
        inner = Source("t i", self.table("t", "i"), "i.uid")
        value = self.draw.choice(
            ["COUNT(*)", "SUM(i.x)", "MAX(i.n) - MIN(i.n)", "COALESCE(SUM(i.h), -1) + COUNT(i.x)", "AVG(i.x)"]
        )
        own = f"(SELECT {value} FROM t i WHERE i.uid = p.uid AND {self.truth(inner, 1)})"
        public = "(SELECT AVG(weight) + COUNT(*) FROM pub WHERE rate > 0.5)"
        by_value = "(SELECT SUM(u.weight) FROM pub u WHERE u.code = p.age)"
        sign = self.draw.choice(["<", ">=", "<>"])
        return Source("p", self.table("p", "p"), "p.uid", where=f"{self.draw.choice([own, public, by_value])} {sign} 2")

    @form("source", "windows of owners", everyday=True)
    def windows_of_owners(self) -> Source:
        order = self.draw.choice(["t.day", "t.x DESC", "t.h, t.n", "t.amount NULLS FIRST", "t.at, t.eid"])
        over = f"OVER (PARTITION BY t.uid{self.draw.choice(['', ', t.g'])} ORDER BY {order})"
        rank = self.draw.choice(["ROW_NUMBER", "RANK", "DENSE_RANK"])
        row = self.draw.choice(["LAG(t.x)", "LEAD(t.x, 2)", "LAG(t.n + t.x)"])
        where = (
            f" WHERE {self.truth(Source('t', self.table('t', 't'), 't.uid'), 1)}" if self.draw.random() < 0.5 else ""
        )
        inner = f"SELECT t.uid, t.g, t.n, {rank}() {over} AS r, {row} {over} AS b FROM t{where}"
        columns = (
            Named("q.g", self.tables["t"]["g"]),
            Named("q.n", self.tables["t"]["n"]),
            Named("q.r", Int(1, 4, nullable=False, default=1)),
            Named("q.b", Int(-200, 1100)),
        )
        return Source(f"({inner}) q", columns, "q.uid")

    @form("source", "union all")
    def union_all(self) -> Source:
        parts = [
            f"SELECT uid, {x} AS v, {y} AS w FROM {name}"
            for name, x, y in self.draw.sample(
                [("t", "x", "flag"), ("t", "n", "x > 3"), ("p", "age", "member"), ("c", "qty", "qty > 1")], 2
            )
        ]
        columns = Named("q.v", Int(-100, 1000)), Named("q.w", Bool())
        return Source(f"({' UNION ALL '.join(parts)}) AS q", columns, "q.uid")

    @form("source", "exists")
    def exists(self) -> Source:
        word = self.draw.choice(["EXISTS", "NOT EXISTS"])
        inner = Source("t i", self.table("t", "i"), "i.uid")
        where = f"{word} (SELECT 1 FROM t i WHERE i.uid = p.uid AND {self.truth(inner, 1)})"
        return Source("p", self.table("p", "p"), "p.uid", where=where)

    @form("source", "correlated exists")
    def correlated_exists(self) -> Source:
        word = self.draw.choice(["EXISTS", "NOT EXISTS"])
        where = f"{word} (SELECT 1 FROM t i WHERE i.uid = t.uid AND i.x > t.x AND i.h <> t.h)"
        return Source("t", self.table("t", "t"), "t.uid", where=where)

    @form("source", "exists by key")
    def exists_by_key(self) -> Source:
        word = self.draw.choice(["EXISTS", "NOT EXISTS"])
        inner = Source("c i", self.table("c", "i"), "i.uid")
        where = f"{word} (SELECT 1 FROM c i WHERE i.eid = t.eid AND {self.truth(inner, 1)})"
        return Source("t", self.table("t", "t"), "t.uid", where=where)

    @form("source", "in totals")
    def in_totals(self) -> Source:
        word, having = self.draw.choice(["IN", "NOT IN"]), self.draw.choice(["SUM(x) > 20", "COUNT(*) > 2"])
        inner = self.draw.choice([f"uid FROM t GROUP BY uid HAVING {having}", "DISTINCT uid FROM t WHERE flag"])
        return Source("p", self.table("p", "p"), "p.uid", where=f"p.uid {word} (SELECT {inner})")

    @form("source", "totals of a left join")
    def totals_of_a_left_join(self) -> Source:
        inner = (
            "SELECT p.uid, COUNT(t.eid) AS many, MAX(t.amount) AS most "
            "FROM p LEFT JOIN t ON p.uid = t.uid GROUP BY p.uid"
        )
        columns = Named("q.many", Int(0, 4, nullable=False, default=0)), Named("q.most", Fixed(-1000, 1000))
        return Source(f"({inner}) q", columns, "q.uid")

    @form("source", "left join of totals by text")
    def left_join_of_totals_by_text(self) -> Source:
        inner = "SELECT uid, word, SUM(n) AS total FROM t GROUP BY uid, word"
        columns = (*self.table("p", "a"), Named("b.word", Text()), Named("b.total", Int(0, 200)))
        return Source(f"p a LEFT JOIN ({inner}) b ON a.uid = b.uid", columns, "a.uid")

    @form("source", "in public")
    def in_public(self) -> Source:
        word = self.draw.choice(["IN", "NOT IN"])
        where = f"t.h {word} (SELECT code FROM pub WHERE rate > 0.5)"
        return Source("t", self.table("t", "t"), "t.uid", where=where)

    @form("source", "in owners")
    def in_owners(self) -> Source:
        word = self.draw.choice(["IN", "NOT IN"])
        inner = Source("p i", self.table("p", "i"), "i.uid")
        where = f"t.uid {word} (SELECT i.uid FROM p i WHERE {self.truth(inner, 1)})"
        return Source("t", self.table("t", "t"), "t.uid", where=where)

    # Numbers

    def named(self, source: Source, *kinds: str) -> str | None:
        fitting = [column.sql for column in source.columns if column.kind in kinds]
        return self.draw.choice(fitting) if fitting else None

    def number(self, source: Source, depth: int) -> str:
        draw = self.draw
        if depth <= 0 or draw.random() < 0.2:
            column = self.named(source, "number")
            literal = draw.choice([str(draw.randint(0, 99)), "0", "0.5", "4217", "2.25"])
            return literal if column is None or draw.random() < 0.25 else column
        return str(self.pick("number", source, depth))

    @form("number", "arithmetic")
    def arithmetic(self, source: Source, depth: int) -> str:
        return f"({self.number(source, depth - 1)} {self.draw.choice('+-*/%')} {self.number(source, depth - 1)})"

    @form("number", "functions")
    def functions(self, source: Source, depth: int) -> str:
        a, b = self.number(source, depth - 1), self.number(source, depth - 1)
        return self.draw.choice(
            [f"(-{a})", f"ABS({a})", f"COALESCE({a}, {b})", f"NULLIF({a}, {b})", f"LEAST({a}, {b})",
             f"GREATEST({a}, {b}, 1)", f"MOD({a}, {b})", f"CASE {a} WHEN 3 THEN 1 WHEN {b} THEN 2 ELSE {a} END"]
        )  # fmt: skip

    @form("number", "rounding")
    def rounding(self, source: Source, depth: int) -> str:
        a = self.number(source, depth - 1)
        return self.draw.choice(
            [f"FLOOR({a})", f"CEIL({a})", f"ROUND({a}, 1)", f"ROUND({a})", f"TRUNC({a}, 0)", f"SIGN({a})",
             f"WIDTH_BUCKET({a}, -10, 90, 7)", f"CAST({a} AS NUMERIC(30, 3))"]
        )  # fmt: skip

    @form("number", "parts of dates")
    def parts_of_dates(self, source: Source, depth: int) -> str:
        day, moment = self.named(source, "date"), self.named(source, "time")
        part = self.draw.choice(
            ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY", "EPOCH", "HOUR", "SECOND"]
        )
        zone = self.draw.choice(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"])
        known = [f"EXTRACT({part} FROM {day})", f"({day} - DATE '2024-01-02')"] if day else []
        known += (
            [f"EXTRACT({part} FROM {moment})", f"EXTRACT(HOUR FROM {moment} AT TIME ZONE '{zone}')"] if moment else []
        )
        return self.draw.choice(known or ["1"])

    @form("number", "parts of texts")
    def parts_of_texts(self, source: Source, depth: int) -> str:
        text = self.named(source, "text")
        return f"LENGTH({self.draw.choice(['{0}', 'SUBSTRING({0}, 2, 3)', 'TRIM({0})']).format(text)})" if text else "2"

    @form("number", "places in texts", everyday=True)
    def places_in_texts(self, source: Source, depth: int) -> str:
        text = self.named(source, "text", "label")
        return f"POSITION('{self.draw.choice(['a', 'o', '😀'])}' IN {text})" if text else "3"

    @form("number", "powers")
    def powers(self, source: Source, depth: int) -> str:
        a, b = self.number(source, depth - 1), self.number(source, depth - 1)
        cheap = [f"POWER({a}, 2)", f"(CAST({a} AS DOUBLE PRECISION) / {b})", f"({a}::float / 8)"]
        others = [f"SQRT({a})", f"LN({a})", f"LOG({a})", f"LOG(2, {a})", f"EXP(LEAST({a}, 3))"]
        return self.draw.choice([*cheap * 4, *others, f"POWER(LEAST(ABS({a}), 9), 1.5)"])

    @form("number", "case")
    def case(self, source: Source, depth: int) -> str:
        otherwise = self.draw.choice(["", f" ELSE {self.number(source, depth - 1)}"])
        return f"CASE WHEN {self.truth(source, depth - 1)} THEN {self.number(source, depth - 1)}{otherwise} END"

    # Truths

    def truth(self, source: Source, depth: int) -> str:
        draw = self.draw
        if depth <= 0:
            return str(self.pick("truth", source))
        sign = draw.choice(["<", "<=", "=", "<>", ">", ">="])
        return draw.choice(
            [
                lambda: f"{self.number(source, depth)} {sign} {self.number(source, depth - 1)}",
                lambda: f"({self.truth(source, depth - 1)} AND {self.truth(source, depth - 1)})",
                lambda: f"({self.truth(source, depth - 1)} OR {self.truth(source, depth - 1)})",
                lambda: f"NOT ({self.truth(source, depth - 1)})",
                lambda: f"({self.truth(source, depth - 1)}) IS NOT TRUE",
                lambda: (
                    f"{self.number(source, depth - 1)} BETWEEN {self.number(source, 0)} AND {self.number(source, 0)}"
                ),
                lambda: f"({self.number(source, depth - 1)}) IS NULL",
            ]
        )()

    @form("truth", "comparison")
    def comparison(self, source: Source) -> str:
        column = self.named(source, "number")
        return (
            "TRUE" if column is None else f"{column} {self.draw.choice(['>', '<=', '<>'])} {self.draw.randint(-9, 50)}"
        )

    @form("truth", "flag")
    def flag(self, source: Source) -> str:
        column = self.named(source, "bool")
        return "TRUE" if column is None else self.draw.choice([column, f"NOT {column}", f"{column} IS FALSE"])

    @form("truth", "texts")
    def texts(self, source: Source) -> str:
        column = self.named(source, "text")
        if column is None:
            return "FALSE"
        ends = [
            "LIKE '%a%'",
            "= 'alpha'",
            "< 'b'",
            "IS NULL",
            "IN ('beta', '', 'été')",
            "NOT LIKE '_\\%%'",
            "LIKE '%😀'",
            "ILIKE 'ALPH_'",
            "NOT ILIKE '%B%'",
            "LIKE '50!%%' ESCAPE '!'",
        ]
        return f"{column} {self.draw.choice(ends)}"

    @form("truth", "labels")
    def labels(self, source: Source) -> str:
        fitting = [column for column in source.columns if column.kind == "label"]
        if not fitting:
            return "TRUE"
        column = self.draw.choice(fitting)
        label = self.draw.choice(column.column.values).replace("'", "''")  # type: ignore[attr-defined]
        ends = [f"= '{label}'", f"<> '{label}'", f"IN ('{label}')", "IS NOT NULL", "LIKE '%o%'", "ILIKE '%O%'", "< 'o'"]
        return f"{column.sql} {self.draw.choice(ends)}"

    @form("truth", "dates")
    def dates(self, source: Source) -> str:
        column = self.named(source, "date")
        ends = ["= DATE '2024-01-03'", "> '2024-01-02'", "BETWEEN '2024-01-02' AND DATE '2024-02-01'", "IS NULL"]
        return "TRUE" if column is None else f"{column} {self.draw.choice(ends)}"

    @form("truth", "moved dates")
    def moved_dates(self, source: Source) -> str:
        day, moment = self.named(source, "date"), self.named(source, "time")
        known = [f"{day} + INTERVAL '1 month' > DATE '2024-02-03'", f"{day} - 2 <= '2024-01-01'",
                 f"DATE_TRUNC('month', {day}) = DATE '2024-01-01'"] if day else []  # fmt: skip
        if moment:
            known += [f"{moment} - INTERVAL '36 hours' < '2024-04-01'", f"CAST({moment} AS DATE) = DATE '2024-03-31'"]
            known += [f"{moment} AT TIME ZONE 'Europe/Berlin' >= TIMESTAMP '2024-03-31 03:00:00'"]
        return self.draw.choice(known or ["TRUE"])

    @form("truth", "parts of texts in truths")
    def text_functions(self, source: Source) -> str:
        text, label = self.named(source, "text"), self.named(source, "label")
        known = [f"LEFT({text}, 1) = 'a'", f"TRIM({text}) <> {text}", f"{text} || 'x' = 'x'"] if text else []
        known += [f"LOWER({text}) = 'alpha'", f"UPPER({text}) LIKE '%A%'", f"UPPER({text}) <> {text}"] if text else []
        known += [f"UPPER({label}) LIKE '%N%'", f"LENGTH({label}) > 5", f"{label} || '!' LIKE '%h!'"] if label else []
        return self.draw.choice(known or ["TRUE"])

    @form("truth", "distinct from", everyday=True)
    def distinct_from(self, source: Source) -> str:
        word = self.draw.choice(["IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
        return f"{self.number(source, 1)} {word} {self.draw.choice([self.number(source, 1), 'NULL'])}"

    @form("truth", "ends of texts", everyday=True)
    def ends_of_texts(self, source: Source) -> str:
        text = self.named(source, "text")
        known = [f"RIGHT({text}, 2) = 'ha'", f"SPLIT_PART({text}, 'a', 2) <> ''", f"CONCAT({text}, 'x', {text}) = 'x'"]
        return self.draw.choice(known) if text else "TRUE"

    @form("truth", "times")
    def times(self, source: Source) -> str:
        column = self.named(source, "time")
        ends = ["> TIMESTAMP '2024-05-01 00:00:00'", "< '2024-06-01T12:30:00+02:00'", "<= DATE '2024-03-31'"]
        return "TRUE" if column is None else f"{column} {self.draw.choice(ends)}"

    # Keys

    @form("key", "column")
    def key_column(self, source: Source) -> str | None:
        fitting = [c.sql for c in source.columns if c.column.key_count is not None and c.column.key_count < FEW_KEYS]
        return self.draw.choice(fitting) if fitting else None

    @form("key", "case bins")
    def key_bins(self, source: Source) -> str | None:
        column = self.named(source, "number")
        labels = self.draw.choice([("'low'", "'mid'", "'high'"), ("0", "1", "2")])
        otherwise = self.draw.choice(["", f" ELSE {labels[2]}"])
        return column and f"CASE WHEN {column} < 3 THEN {labels[0]} WHEN {column} < 30 THEN {labels[1]}{otherwise} END"

    @form("key", "bucket")
    def key_bucket(self, source: Source) -> str | None:
        fitting = [c.sql for c in source.columns if isinstance(c.column, Int) and c.column.key_count < 2000]
        if not fitting:
            return None
        column = self.draw.choice(fitting)
        return self.draw.choice([f"{column} / 10", f"{column} / 25 * 25", f"{column} % 7", f"FLOOR({column} / 10)"])

    @form("key", "date parts")
    def key_dates(self, source: Source) -> str | None:
        column = self.named(source, "date", "time")
        unit = self.draw.choice(["year", "month", "quarter", "week"])
        part = self.draw.choice(["YEAR", "MONTH", "DAY", "DOW", "QUARTER"])
        return column and self.draw.choice([f"DATE_TRUNC('{unit}', {column})", f"EXTRACT({part} FROM {column})"])

    @form("key", "labels of days", everyday=True)
    def key_labels(self, source: Source) -> str | None:
        column = self.named(source, "date", "time")
        return column and f"TO_CHAR({column}, '{self.draw.choice(['YYYY-MM', 'Mon', 'FMDay', 'Q', 'HH24'])}')"

    @form("key", "ends of private texts", everyday=True)
    def key_ends(self, source: Source) -> str | None:
        column = self.named(source, "text")
        return column and self.draw.choice([f"RIGHT({column}, 2)", f"SPLIT_PART({column}, 'a', 1)"])

    @form("key", "hours of a zone")
    def key_hours(self, source: Source) -> str | None:
        column = self.named(source, "time")
        return column and f"EXTRACT(HOUR FROM {column} AT TIME ZONE 'America/New_York')"

    @form("key", "private text")
    def key_text(self, source: Source) -> str | None:
        column = self.named(source, "text")
        return column and self.draw.choice([column, f"LEFT({column}, 2)", f"TRIM({column})"])

    # Outputs

    @form("output", "count")
    def count(self, source: Source) -> str:
        return "COUNT(*)"

    @form("output", "count of a value")
    def count_of(self, source: Source) -> str:
        column = self.named(source, "text", "label", "bool", "date", "time")
        return f"COUNT({column or self.number(source, 2)})"

    @form("output", "owners")
    def owners(self, source: Source) -> str:
        return f"COUNT(DISTINCT {source.owner})" if source.owner else "COUNT(*)"

    @form("output", "funnel", everyday=True)
    def funnel(self, source: Source) -> str:
        truth, owner = self.truth(source, 1), source.owner
        if not owner:
            return f"COUNT_IF({truth})"
        shapes = [
            "COUNT(DISTINCT {1}) FILTER (WHERE {0})",
            "COUNT(DISTINCT CASE WHEN {0} THEN {1} END)",
            "COUNT_IF({0})",
        ]
        return self.draw.choice(shapes).format(truth, owner)

    @form("output", "regression", everyday=True)
    def regression(self, source: Source) -> str:
        word = self.draw.choice(["CORR", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2"])
        return f"{word}({self.named(source, 'number') or 1}, {self.named(source, 'number') or 1})"

    @form("output", "distinct values")
    def distinct(self, source: Source) -> str:
        return f"COUNT(DISTINCT {self.named(source, 'number', 'label', 'date', 'text') or 1})"

    @form("output", "sum")
    def sum(self, source: Source) -> str:
        return f"SUM({self.number(source, self.draw.randint(0, 3))})"

    @form("output", "average")
    def average(self, source: Source) -> str:
        return f"AVG({self.number(source, self.draw.randint(0, 2))})"

    @form("output", "variance")
    def variance(self, source: Source) -> str:
        word = self.draw.choice(["VARIANCE", "VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP"])
        return f"{word}({self.named(source, 'number') or 1})"

    @form("output", "filter")
    def filter(self, source: Source) -> str:
        column = self.named(source, "number") or "1"
        inner = self.draw.choice(
            ["COUNT(*)", f"SUM({self.number(source, 1)})", f"AVG({self.number(source, 1)})", f"COUNT({column})",
             f"MEDIAN({column})", f"COUNT(DISTINCT {column})", f"OWNER_SUM({column}, -5, 40)", f"VARIANCE({column})"]
        )  # fmt: skip
        return f"{inner} FILTER (WHERE {self.truth(source, 1)})"

    @form("output", "quantile")
    def quantile(self, source: Source) -> str:
        column = self.named(source, "number", "date") or "1"
        return self.draw.choice(
            [f"MEDIAN({column})", f"MIN({column})", f"MAX({column})",
             f"PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {column})",
             f"PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY {column})"]
        )  # fmt: skip

    @form("output", "mode")
    def mode(self, source: Source) -> str:
        return f"MODE() WITHIN GROUP (ORDER BY {self.named(source, 'label', 'bool') or 1})"

    @form("output", "totals of owners")
    def owner_totals(self, source: Source) -> str:
        return self.draw.choice(
            [f"OWNER_SUM({self.named(source, 'number') or 1}, -50, 200)", f"OWNER_COUNT({self.draw.randint(1, 4)})"]
        )

    @form("output", "ratio")
    def ratio(self, source: Source) -> str:
        column = self.named(source, "number") or "1"
        return self.draw.choice(
            [
                f"SUM({column}) / COUNT(*)",
                f"2 * COUNT(*) - COUNT({column})",
                f"SUM({column}) / {self.owners(source)}",
                f"ROUND(SUM({column}))",
                f"SQRT(ABS(SUM({column})))",
                f"GREATEST(COUNT({column}), 0) + COALESCE(SUM({column}), 0)",
            ]
        )

    # After the noise

    @form("after", "having")
    def having(self, outputs: list[str]) -> str:
        aggregate = outputs[0].rsplit(" AS ", 1)[0]
        return self.draw.choice(
            [f" HAVING {aggregate} > 2", f" HAVING COUNT(*) > 1 OR {aggregate} < 0", " HAVING COUNT(*) < 3"]
        )

    @form("after", "order and limit")
    def order(self, outputs: list[str]) -> str:
        way = self.draw.choice(["ASC", "DESC", "DESC NULLS LAST", "NULLS FIRST"])
        most = self.draw.choice(["LIMIT 1", "LIMIT 3", "OFFSET 1", "LIMIT 2 OFFSET 1", "FETCH FIRST 2 ROWS ONLY"])
        return f" ORDER BY o0 {way} {most}"
