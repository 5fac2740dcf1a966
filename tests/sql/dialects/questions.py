"""Random questions in a dialect, from templates: {n} stands for a number, {c} a condition, {x} a text, {d} a day,
{at} a moment, {l} a plain number, {k} a written one, {h} a number above zero.

Numbers inside others are such that binary floats hold them exactly, so that engines with floats must agree to the last
digit; what floats only approximate stands outermost. RISKY are forms that dialects mean differently: each is answered
as its engine does or refused.
"""

from __future__ import annotations

import random
import re

LEAVES = ["a", "b", "m", "id", "0", "1", "2", "7", "0.5", "2.25", "10"]
NUMBERS: dict[str, list[str]] = {
    "every": [
        "({n} + {n})", "({n} - {n})", "({l} * {l})", "(- {n})", "ABS({n})", "COALESCE({n}, {n})", "NULLIF({n}, {n})",
        "CASE WHEN {c} THEN {n} ELSE {n} END", "CASE WHEN {c} THEN {n} END", "CASE {l} WHEN {k} THEN {n} ELSE {n} END",
        "FLOOR({n})", "CEIL({n})", "ROUND({n})", "SIGN({n})", "CAST({n} AS INTEGER)", "CAST({c} AS INTEGER)",
        "LENGTH({x})", "({l} / {k})", "({l} % {k})", "TRUNC({n})", "{l} + {l} * {l} - {k}", "- {l} % {k}",
    ],
    "duckdb": [
        "GREATEST({n}, {n})", "LEAST({n}, {n}, {l})", "({l} // {k})", "MOD({l}, {k})", "IF({c}, {n}, {n})",
        "IFNULL({n}, {n})", "EXTRACT({p} FROM {d})", "EXTRACT({q} FROM {at})", "YEAR({d})", "MONTH({at})", "HOUR({at})",
        "SECOND({at})", "DAYOFWEEK({d})", "WEEKOFYEAR({d})", "ISODOW({d})", "DATE_PART('{p}', {d})",
        "DATE_DIFF('{u}', {d}, {d})", "DATEDIFF('day', {at}, {at})", "({d} - {d})", "LEN({x})", "CAST({l} AS BIGINT)",
        "{l}::INTEGER", "QUARTER({d})", "DAYOFYEAR({d})", "CHAR_LENGTH({x})", "TRUNC({l}, 1)",
    ],
    "sqlite": ["MAX({n}, {n})", "MIN({n}, {n}, {l})", "IFNULL({n}, {n})", "IIF({c}, {n}, {n})", "CEILING({n})"],
    "postgres": [
        "GREATEST({n}, {n})", "LEAST({n}, {n}, {l})", "MOD({l}, {k})", "EXTRACT({p} FROM {d})",
        "EXTRACT({q} FROM {at})", "DATE_PART('{p}', {d})", "({d} - {d})", "{l}::INTEGER", "CHAR_LENGTH({x})",
        "TRUNC({l}, 1)",
        "WIDTH_BUCKET({n}, -10, 90, 7)", "EXTRACT(EPOCH FROM {at})", "EXTRACT(EPOCH FROM ({at} - {at}))",
    ],
}  # fmt: skip
OUTERMOST: dict[str, list[str]] = {
    "every": [
        "{n}", "{n}", "({n} / 3)", "ROUND({n}, 1)", "({n} / NULLIF(b, 0))", "SQRT(ABS({n}))", "SQRT(b * {h})",
        "LN({h})", "LOG10({h} + b)", "LOG({h})", "EXP(b - {k})", "POWER({l}, 2)", "POWER(b, 1.5)", "POWER({h}, -{k})",
        "POWER(1.05, b)", "LN(ABS({n}) + 1) * 2", "EXP(m / 8.0)",
        "(CAST({n} AS DOUBLE PRECISION) / {k})", "(CAST({l} AS REAL) + {k})",
    ],
    "duckdb": ["CAST({n} AS DECIMAL(12, 1))", "({n} / b)", "ROUND({n}, -1)"],
    "sqlite": ["({n} / b)", "ROUND({n}, 2)"],
    "postgres": ["CAST({n} AS NUMERIC(12, 1))", "ROUND({n}, -1)", "LOG(2, {h})", "(b ^ 3)"],
}  # fmt: skip
CONDITIONS: dict[str, list[str]] = {
    "every": [
        "{n} {o} {n}", "{n} {o} {k}", "{x} {o} '{w}'", "{x} IN ('{w}', '{w}')", "{x} LIKE '{v}'", "{x} NOT LIKE '{v}'",
        "{x} LIKE '50!%%' ESCAPE '!'", "{n} BETWEEN {l} AND {l}", "{n} IS NULL", "{x} IS NOT NULL", "f", "NOT f",
        "f IS TRUE", "f IS NOT FALSE", "({c} AND {c})", "({c} OR {c})", "NOT ({c})", "{c} AND {c} OR {c}",
        "NOT {l} {o} {k}", "g = '{g}'", "g IN ('{g}', '{g}')", "g <> '{g}'", "g LIKE '{v}'", "{d} {o} '{y}'",
        "{d} BETWEEN '2020-06-01' AND '{y}'", "{l} NOT IN (1, 2, 7)", "a = b", "({l} > {k}) = ({l} < {k})",
        "{x} = {x}", "EXISTS (SELECT 1 FROM t AS i WHERE i.owner_id = t.owner_id AND i.a > {k})",
        "t.owner_id IN (SELECT i.owner_id FROM t AS i WHERE i.f)",
    ],
    "duckdb": [
        "{x} ILIKE '{v}'", "{d} + INTERVAL 1 MONTH {o} DATE '{y}'", "{d} - INTERVAL '3 days' {o} '{y}'",
        "DATE_TRUNC('{u}', {d}) {o} DATE '{y}'", "DATE_TRUNC('week', {d}) = DATE '2024-12-30'",
        "{at} {o} TIMESTAMP '{y} 12:30:00'", "{at} {o} '{y}'", "CAST({at} AS DATE) {o} DATE '{y}'",
        "{d} + 31 {o} '{y}'",
        "DATE_TRUNC('hour', {at}) {o} '{y}'", "UPPER(g) = 'NORTH'",
    ],
    "sqlite": ["UPPER(g) = 'NORTH'"],
    "postgres": [
        "{x} ILIKE '{v}'", "{d} + INTERVAL '1 month' {o} DATE '{y}'", "{d} - INTERVAL '3 days' {o} '{y}'",
        "DATE_TRUNC('{u}', {d}) {o} DATE '{y}'", "DATE_TRUNC('week', {d}) = DATE '2024-12-30'",
        "{at} {o} TIMESTAMP '{y} 12:30:00'", "{at} {o} '{y}'", "CAST({at} AS DATE) {o} DATE '{y}'",
        "{d} + 31 {o} '{y}'",
        "DATE_TRUNC('hour', {at}) {o} '{y}'", "UPPER(g) = 'NORTH'", "({c}) = f",
    ],
}  # fmt: skip
TEXTS: dict[str, list[str]] = {
    "every": ["s", "s", "g", "SUBSTR({x}, 2)", "SUBSTR({x}, 1, 2)", "TRIM({x})", "LTRIM(s)", "RTRIM(s)", "(s || 'b')",
              "COALESCE(s, 'q')", "CASE WHEN {c} THEN s ELSE 'a' END"],
    "duckdb": ["LEFT({x}, 2)", "SUBSTRING({x} FROM 2 FOR 3)", "SUBSTRING({x}, 2, 1)", "LOWER(s)", "UPPER({x})"],
    "sqlite": [],
    "postgres": ["LEFT({x}, 2)", "SUBSTRING({x} FROM 2 FOR 3)", "SUBSTRING({x}, -1, 3)", "SUBSTRING({x}, 0)"],
}  # fmt: skip
SOURCES = [  # of rows, beside those of t alone
    "t JOIN p ON t.owner_id = p.owner_id", "t LEFT JOIN p ON t.owner_id = p.owner_id AND p.age > 30",
    "t JOIN k ON t.b = k.code", "t LEFT JOIN k ON t.b = k.code",
    "t JOIN p ON t.owner_id = p.owner_id LEFT JOIN k ON t.b = k.code",
]  # fmt: skip
JOINED = {"p": ["age", "(age + a)", "CASE WHEN city = 'Rom' THEN age ELSE b END"], "k": ["w", "(w * 2 - b)"]}
KEYS: dict[str, list[str]] = {
    "every": ["b", "g", "f", "CASE WHEN {c} THEN 'yes' ELSE 'no' END", "CASE WHEN a < 3 THEN 1 WHEN a < 40 THEN 2 END",
              "FLOOR(a / 10)", "b % 3", "LENGTH(g)", "CAST(m AS INTEGER)", "ROUND(a / 10)", "COALESCE(a, 5)"],
    "duckdb": ["a // 10", "DATE_TRUNC('month', d)", "EXTRACT({p} FROM d)", "YEAR(ts)", "DATE_TRUNC('week', d)",
               "DATE_TRUNC('quarter', ts)", "GREATEST(a, b)", "LEFT(g, 2)"],
    "sqlite": ["a / 10", "MAX(a, b)", "SUBSTR(g, 1, 2)"],
    "postgres": ["a / 10", "DATE_TRUNC('month', d)", "EXTRACT({p} FROM d)", "DATE_TRUNC('week', d)", "LEAST(a, b)",
                 "DATE_TRUNC('quarter', ts)", "LEFT(g, 2)"],
}  # fmt: skip
RISKY: dict[str, list[str]] = {
    "duckdb": [
        "LENGTH(SUBSTR({x}, -2))", "LENGTH(SUBSTR({x}, 0, 2))", "DATE_DIFF('week', {d}, {d})",
        "LENGTH(SUBSTR(s, b, 2))",
        "LENGTH(LEFT(s, -1))", "CAST(({n} / 2) AS INTEGER)", "({n} / {n})", "(m // {k})", "LENGTH(CONCAT(s, 'x'))",
        "EXTRACT(EPOCH FROM {at})", "LENGTH(TRIM(s, 'a'))", "({n} % {n})", "LENGTH(UPPER(s))", "WEEK({d})",
        "CAST(1e0 * {n} AS INTEGER)", "CAST({n} AS DECIMAL)", "DATEDIFF('hour', {at}, {at})", "ROUND(({n} / 2))",
    ],
    "sqlite": [
        "LENGTH(SUBSTR({x}, -2))", "LENGTH(SUBSTR({x}, 0, 2))", "(m % b)", "({n} % {n})", "CAST(m AS NUMERIC)",
        "ROUND({n}, -1)", "({d} - {d})", "({d} + 1)", "CAST({n} AS DECIMAL(9, 1))", "LENGTH(SUBSTR(s, b, 2))",
        "MAX(m, a)", "({l} / b)", "LENGTH(UPPER(s))", "CAST(d AS DATE)", "LENGTH(ts)", "(m / {k})", "(f + 1)",
    ],
    "postgres": ["({l} / b)", "({n} % {n})", "LENGTH(CONCAT(s, 'x'))", "CAST({n} AS SMALLINT)"],
}  # fmt: skip
RISKY_CONDITIONS: dict[str, list[str]] = {
    "duckdb": ["{x} LIKE 'a\\_b'", "{x} LIKE 'a\\b'", "{x} ILIKE 'É%'", "{x} LIKE '%\\'", "g LIKE 'a\\_b'",
               "{at} > TIMESTAMP '2024-01-01 00:00:00+02'", "{x} SIMILAR TO 'a.*'", "a == b", "UPPER(g) < 'O'"],
    "sqlite": ["{x} LIKE 'a\\_b'", "{x} LIKE 'a\\b'", "{x} LIKE 'É%'", "{at} > '2024-01-01'", "{at} = '{y}'", "a IS b",
               "{x} LIKE 'A%'", "g LIKE 'N%'", "{x} GLOB 'a*'", "a == b", "UPPER(s) = 'A'", "{x} = \"a\"",
               "{x} IS 'a'"],
    "postgres": ["{x} LIKE 'a\\_b'", "{x} LIKE 'a\\\\b'", "{x} LIKE 'a\\b'"],
}  # fmt: skip
WORDS = {
    "o": ["=", "<>", "<", "<=", ">", ">="],
    "k": ["1", "2", "4", "8"],
    "h": ["(b + 1)", "(ABS(a) + 0.5)", "(id * 4 + 2)", "2.25", "(LENGTH(s) + 1)"],
    "w": ["", "a", "A", "été", "a_b", " pad ", "x😀y", "zz"],
    "v": ["a%", "A%", "%b", "_", "a_b", "%", "ét_", "%!%", "[_]", "x_y", "%o%"],
    "g": ["north", "south", "a_b", "Ost"],
    "y": ["2020-02-29", "2021-01-01", "2024-12-31", "2025-03-31"],
    "d": ["d", "d", "DATE '2024-02-29'"],
    "at": ["ts"],
    "p": ["year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "isoyear"],
    "q": ["year", "hour", "minute", "second", "dow", "week"],
    "u": ["day", "month", "quarter", "year"],
}
WHERE_NULLS = ["", "", "", " NULLS FIRST", " NULLS LAST"]
_HOLE = re.compile(r"\{(\w+)\}")


class Questions:
    """Draws questions. The same seed gives the same ones."""

    def __init__(self, seed: int, dialect: str) -> None:
        self.draw = random.Random(f"{dialect} {seed}")
        self.dialect = dialect

    def question(self) -> tuple[str, int]:
        """A question, and how many of its items are keys: a value or a condition in each row, or groups of rows."""
        kind = self.draw.randrange(8)
        if kind < 2:
            risky = self.draw.random() < 0.15
            value = self.filled(self.draw.choice(RISKY[self.dialect])) if risky else self.pick(OUTERMOST, 2)
            return f"SELECT id, SUM({value}), COUNT({value}) FROM t GROUP BY id", 1
        if kind < 4:
            return f"SELECT id, COUNT(*) FROM t WHERE {self.condition()} GROUP BY id", 1
        if kind == 7:
            return self.windowed()
        return self.joined() if kind == 4 else self.grouped()

    def windowed(self) -> tuple[str, int]:
        """Rows of each owner in an order in which NULL stands where the dialect puts it."""
        by, down, nulls = (self.draw.choice(words) for words in (["a", "m", "d", "b"], ["", " DESC"], WHERE_NULLS))
        part = self.draw.choice(["owner_id", "owner_id", "owner_id, f"])
        over = f"OVER (PARTITION BY {part} ORDER BY {by}{down}{nulls}{self.draw.choice(['', ', id', ', id DESC'])})"
        tied = over.endswith(f"{nulls})")  # then only ranks are the same in every engine
        windows = ["RANK()", "DENSE_RANK()", "ROW_NUMBER()", "LAG(a)", "LEAD(m)", "LAG(b, 2)"]
        window = self.draw.choice(windows[:2] if tied else windows)
        where = f" WHERE {self.condition()}" if self.draw.random() < 0.3 else ""
        inner = f"SELECT owner_id, id, {window} {over} AS w FROM t{where}"
        return f"SELECT id, SUM(w), COUNT(w) FROM ({inner}) AS q GROUP BY id", 1

    def joined(self) -> tuple[str, int]:
        """Rows beside those of another table of the same people, and of a public one."""
        source, where = self.draw.choice(SOURCES), self.condition()
        fitting = [form for name, forms in JOINED.items() if f"JOIN {name} " in source for form in forms]
        value, key = self.draw.choice(fitting), self.draw.choice(["id", "b"])
        found = f"COUNT(*), SUM({value}), COUNT({value}), AVG({value})"
        return f"SELECT {key} AS k, {found} FROM {source} WHERE {where} GROUP BY {key}", 1

    def grouped(self) -> tuple[str, int]:
        key, value, where = self.pick(KEYS, 1), self.pick(NUMBERS, 1), self.condition()
        choice = self.draw.randrange(6)
        if choice == 0:
            return f"SELECT {key} AS k, COUNT(*), SUM({value}) FROM t WHERE {where} GROUP BY {key}", 1
        if choice == 1:
            return f"SELECT {key} AS k, COUNT(*), AVG({value}) FROM t WHERE {where} GROUP BY {key}", 1
        if choice == 2:
            having = self.draw.choice(["COUNT(*) > {k}", "COUNT(*) BETWEEN {k} AND 9", "NOT COUNT(*) <= {k}"])
            found = f"SELECT {key} AS k, COUNT(*), SUM({value}) FROM t WHERE {where}"
            return f"{found} GROUP BY {key} HAVING {self.filled(having)}", 1
        if choice == 3:
            other, elsewhere = self.pick(NUMBERS, 1), self.condition()
            parts = (("b", value, where), (self.draw.choice(["id", "b + 1"]), other, elsewhere))
            both = " UNION ALL ".join(f"SELECT owner_id, {k} AS k, {v} AS v FROM t WHERE {c}" for k, v, c in parts)
            return f"SELECT k, COUNT(*), COUNT(v), SUM(v) FROM ({both}) AS u GROUP BY k", 1
        inner = f"SELECT owner_id, id, {key} AS k, {value} AS v FROM t WHERE {where}"
        if choice == 4:
            return f"SELECT k, COUNT(*), COUNT(v), SUM(v) FROM ({inner}) AS q GROUP BY k", 1
        return f"WITH q AS ({inner}) SELECT k, COUNT(v), SUM(v) FROM q WHERE v >= 0 OR id > 30 GROUP BY 1", 1

    def condition(self) -> str:
        if self.draw.random() < 0.15:
            return self.filled(self.draw.choice(RISKY_CONDITIONS[self.dialect]))
        return self.pick(CONDITIONS, 2)

    def pick(self, forms: dict[str, list[str]], depth: int) -> str:
        return self.filled(self.draw.choice(forms["every"] + forms[self.dialect]), depth)

    def filled(self, template: str, depth: int = 1) -> str:
        return _HOLE.sub(lambda hole: self.word(hole[1], depth), template)

    def word(self, name: str, depth: int) -> str:
        if name == "n":
            return self.pick(NUMBERS, depth - 1) if depth > 0 and self.draw.random() < 0.7 else self.word("l", 0)
        if name == "l":
            return self.draw.choice(LEAVES)
        if name == "c":
            return self.pick(CONDITIONS, depth - 1) if depth > 0 else self.draw.choice(["f", "a > 3", "m <= 0.5"])
        if name == "x":
            return self.pick(TEXTS, depth - 1) if depth > 0 else "s"
        if name == "d" and self.dialect == "sqlite":
            return "d"
        return self.draw.choice(WORDS[name])
