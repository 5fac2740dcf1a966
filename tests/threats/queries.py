"""Questions for the neighbour harness: the whole grammar, nasty operators, hostile texts, and a generator.

A new query form joins the harness by one line in `FORMS`.
"""

from __future__ import annotations

import random

FORMS: dict[str, str] = {
    # aggregates
    "count": "SELECT COUNT(*) FROM t",
    "count of a column": "SELECT COUNT(x) FROM t",
    "count of text": "SELECT COUNT(s) FROM t",
    "owners": "SELECT COUNT(DISTINCT uid) FROM t",
    "owners filtered": "SELECT COUNT(DISTINCT uid) FROM t WHERE x > 0",
    "sum": "SELECT SUM(x) FROM t",
    "sum of decimals": "SELECT SUM(amount) FROM t",
    "sum of huge values": "SELECT SUM(wide) FROM t",
    "average": "SELECT AVG(x) FROM t",
    "average of decimals": "SELECT AVG(amount) FROM t",
    "average of huge values": "SELECT AVG(wide) FROM t",
    "everything at once": "SELECT COUNT(*), COUNT(x), COUNT(DISTINCT uid), SUM(x), AVG(x), AVG(amount) FROM t",
    "the same twice": "SELECT SUM(x) AS a, SUM(x) AS b, COUNT(*), COUNT(*) FROM t",
    # groups
    "by category": "SELECT g, COUNT(*) FROM t GROUP BY g",
    "by integer": "SELECT h, SUM(x) FROM t GROUP BY h",
    "by boolean": "SELECT flag, AVG(amount) FROM t GROUP BY flag",
    "by date": "SELECT day, COUNT(*), SUM(x) FROM t GROUP BY day",
    "by owner id": "SELECT uid, COUNT(*) FROM t GROUP BY uid",
    "by several": "SELECT g, h, flag, COUNT(*), SUM(x), AVG(amount) FROM t GROUP BY g, h, flag",
    "owners by group": "SELECT g, COUNT(DISTINCT uid) FROM t GROUP BY g",
    "owners by many groups": "SELECT n, g, COUNT(DISTINCT uid), COUNT(*) FROM t GROUP BY n, g",
    "key not shown": "SELECT COUNT(*) FROM t GROUP BY g",
    "by position": "SELECT g, COUNT(*) FROM t GROUP BY 1",
    "by alias": "SELECT g AS region, COUNT(*) FROM t GROUP BY region",
    "filtered group": "SELECT g, SUM(wide) FROM t WHERE uid = 4217 GROUP BY g",
    # predicates
    "comparisons": "SELECT COUNT(*) FROM t WHERE x < 10 AND x <= 9 AND x <> 3 OR n >= 2 AND n > 1 AND n = 4",
    "not": "SELECT COUNT(*) FROM t WHERE NOT (x > 0 OR NOT flag)",
    "in": "SELECT COUNT(*) FROM t WHERE h IN (1, 2) AND g IN ('north', 'lonely') AND x NOT IN (5)",
    "between": "SELECT SUM(x) FROM t WHERE x BETWEEN -5 AND 500 AND amount NOT BETWEEN 0 AND 1.5",
    "is null": "SELECT COUNT(*) FROM t WHERE x IS NULL OR s IS NOT NULL",
    "is true": "SELECT COUNT(*) FROM t WHERE flag IS TRUE OR (x > 3) IS NOT FALSE",
    "like": "SELECT COUNT(*) FROM t WHERE s LIKE 'a%' OR s LIKE '%_c' OR word NOT LIKE '%'",
    "like with escape": "SELECT COUNT(*) FROM t WHERE s LIKE '50!% off' ESCAPE '!' OR s LIKE '%\\\\%'",
    "like on a category": "SELECT SUM(x) FROM t WHERE g LIKE '%o%'",
    "text": "SELECT COUNT(*) FROM t WHERE s = 'alpha' OR s < 'b' OR s IN ('beta', '') OR word >= 'b'",
    "dates": "SELECT COUNT(*) FROM t WHERE day >= DATE '2024-01-02' AND day < '2024-01-05'",
    "times": "SELECT COUNT(*) FROM t WHERE at BETWEEN TIMESTAMP '2024-02-01 00:00:00' AND TIMESTAMP '2024-06-01 12:30'",
    "columns compared": "SELECT COUNT(*) FROM t WHERE x > n AND amount <= x",
    "no row": "SELECT COUNT(*), SUM(x), AVG(x) FROM t WHERE x > 100000",
    "one owner": "SELECT COUNT(*), SUM(x), AVG(amount) FROM t WHERE uid = 4217",
    # arithmetic
    "arithmetic": "SELECT SUM(x + 2 * n - 3), SUM(-x), SUM(amount * 2.5), SUM(x - amount) FROM t",
    "division": "SELECT SUM(x / n), SUM(x % n), AVG(amount / x), SUM(n / 7) FROM t",
    "case": "SELECT SUM(CASE WHEN x > 0 THEN x WHEN flag THEN n ELSE -1 END) FROM t",
    "case of a value": "SELECT SUM(CASE h WHEN 1 THEN 10 WHEN 2 THEN x END) FROM t",
    "absolute": "SELECT SUM(ABS(x)), SUM(ABS(amount)) FROM t",
    "nulls": "SELECT SUM(COALESCE(x, n, 0)), SUM(NULLIF(x, 0)) FROM t",
    "extremes": "SELECT SUM(LEAST(x, n, 10)), SUM(GREATEST(x, amount)) FROM t",
    "arithmetic in a predicate": "SELECT COUNT(*) FROM t WHERE (x + n) * 2 > amount / 3 AND ABS(x) % 7 <> 3",
    "grouped arithmetic": "SELECT h, SUM(x * x - n), AVG(ABS(amount)) FROM t WHERE amount / 2 > -3 GROUP BY h",
}

# Operators that raise on some values elsewhere, or that carry a value past its clamp.
NASTY: dict[str, str] = {
    "division by one owner": "SELECT COUNT(*) FROM t WHERE 1 / (uid - 4217) > 0",
    "sum of that": "SELECT SUM(x / (uid - 4217)) FROM t",
    "modulo by zero": "SELECT SUM(x % 0), SUM(x / 0) FROM t",
    "modulo by one owner": "SELECT COUNT(*) FROM t WHERE x % (uid - 4217) = 0",
    "minimum negated": "SELECT SUM(-wide), SUM(ABS(wide)), SUM(ABS(-wide)) FROM t WHERE -big < ABS(big)",
    "doubled": "SELECT SUM(wide * 2), SUM(wide + wide), SUM(wide - 1) FROM t WHERE big * 2 > big + big - 1",
    "squared": "SELECT COUNT(*) FROM t WHERE big * big > 0",
    "scaled by a million": "SELECT SUM(CASE WHEN uid = 4217 THEN x * 1000000 END) FROM t",
    "scaled for one owner, grouped": "SELECT g, SUM(CASE WHEN uid = 4217 THEN wide ELSE 0 END) FROM t GROUP BY g",
    "regrouped to one": "SELECT h, SUM(x) FROM t WHERE h * 0 = 0 GROUP BY h",
    "guarded by case": "SELECT SUM(CASE WHEN uid <> 4217 THEN x / (uid - 4217) ELSE 1 END) FROM t",
    "guarded by and": "SELECT COUNT(*) FROM t WHERE uid <> 4217 AND 1 / (uid - 4217) > 0",
    "least of nulls": "SELECT SUM(LEAST(x, NULL, n)), SUM(GREATEST(NULL, x)) FROM t",
    "pattern of escapes": "SELECT COUNT(*) FROM t WHERE s LIKE '\\\\' OR s LIKE '%\\%' OR s LIKE '_%_'",
    "canary searched": "SELECT COUNT(*) FROM t WHERE s = 'canary-4217-tango' OR n = 12",
    "divided decimals": "SELECT SUM(amount / 0.01), SUM(amount % 0.03) FROM t",
    "division by a column": "SELECT SUM(wide / x), SUM(1 / amount), AVG(n / amount) FROM t WHERE big / x <> 3",
    "null everywhere": "SELECT COUNT(*) FROM t WHERE (x > 0 OR NULL) IS NOT TRUE",
    "deep arithmetic": "SELECT SUM(((((x + 1) * 2 - 3) * 4 + 5) * 6 - 7) / 8) FROM t",
}

OPERANDS = ("x", "big", "amount", "(uid - 4217)", "0", "(-1)", "NULLIF(x, x)")
OPERATORS = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} % {b}", "-{a}", "ABS({a})", "NULLIF({a}, {b})",
    "COALESCE({a}, {b})", "LEAST({a}, {b})", "GREATEST({a}, {b})", "CASE WHEN {a} > {b} THEN {a} ELSE {b} END",
)  # fmt: skip
SIGNS = ("<", "<>", ">=")


def operators_on(a: str, b: str) -> tuple[str, str]:
    """Every operator on two operands: computed in every row, and deciding about every row."""
    computed = [operator.format(a=a, b=b) for operator in OPERATORS]
    decided = [f"({value}) {sign} {b}" for value in computed for sign in SIGNS]
    return (
        f"SELECT {', '.join(f'COUNT({value})' for value in computed)} FROM t",
        f"SELECT COUNT(*) FROM t WHERE {' OR '.join(decided)}",
    )


# Refused before anything is read or charged.
REFUSED: tuple[str, ...] = (
    "",
    ";",
    "SELECT 1",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM '/etc/passwd'",
    'SELECT COUNT(*) FROM "/etc/passwd"',
    "SELECT COUNT(*) FROM rows",
    "SELECT COUNT(*) FROM snapshot.rows",
    "SELECT COUNT(*) FROM information_schema.tables",
    "SELECT COUNT(*) FROM duckdb_settings()",
    "COPY t TO '/tmp/out.csv'",
    "ATTACH '/tmp/x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET threads = 1",
    "PRAGMA database_list",
    "EXPLAIN SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t; DROP TABLE rows",
    "SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t",
    "DELETE FROM t",
    "INSERT INTO t VALUES (1)",
    "CREATE TABLE u AS SELECT * FROM t",
    "SELECT * FROM t",
    "SELECT x FROM t",
    "SELECT s FROM t ORDER BY x LIMIT 1",
    "SELECT s, COUNT(*) FROM t GROUP BY s",
    "SELECT DISTINCT g FROM t",
    "SELECT MIN(x) FROM t",
    "SELECT MAX(s) FROM t",
    "SELECT MEDIAN(x) FROM t",
    "SELECT STDDEV(x) FROM t",
    "SELECT STRING_AGG(s, ',') FROM t",
    "SELECT COUNT(DISTINCT x) FROM t",
    "SELECT SUM(DISTINCT x) FROM t",
    "SELECT COUNT(*) FROM t WHERE s::int > 0",
    "SELECT COUNT(*) FROM t WHERE uid = 4217 AND CAST(s AS INTEGER) > 0",
    "SELECT COUNT(*) FROM t WHERE EXP(1000) > 0",
    "SELECT COUNT(*) FROM t WHERE SQRT(x) > 0",
    "SELECT COUNT(*) FROM t WHERE LN(x) > 0",
    "SELECT COUNT(*) FROM t WHERE POWER(x, 2) > 0",
    "SELECT COUNT(*) FROM t WHERE x = (SELECT x FROM t)",
    "SELECT COUNT(*) FROM t WHERE x IN (SELECT x FROM t)",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t)",
    "SELECT COUNT(*) FROM (SELECT * FROM t) AS q",
    "WITH q AS (SELECT * FROM t) SELECT COUNT(*) FROM q",
    "SELECT COUNT(*) FROM t AS a, t AS b",
    "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.uid = b.uid",
    "SELECT COUNT(*) FROM t UNION ALL SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE s LIKE 'a\\'",
    "SELECT COUNT(*) FROM t WHERE s LIKE 'a\\' ESCAPE '\\'",
    "SELECT COUNT(*) FROM t WHERE s LIKE 'a' ESCAPE 'ab'",
    "SELECT COUNT(*) FROM t WHERE s LIKE word",
    "SELECT COUNT(*) FROM t WHERE s ~ '(a+)+$'",
    "SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(s, 'a')",
    "SELECT COUNT(*) FROM t WHERE REPEAT('x', 2000000000) = s",
    "SELECT COUNT(*) FROM t WHERE RANDOM() < 0.5",
    "SELECT COUNT(*) FROM t WHERE NOW() > at",
    "SELECT COUNT(*) FROM t WHERE NEXTVAL('s') > 0",
    "SELECT COUNT(*) FROM t WHERE ERROR(s) IS NULL",
    "SELECT COUNT(*) FROM t WHERE GETENV('HOME') = s",
    "SELECT COUNT(*) FROM t WHERE _rank = 1",
    "SELECT COUNT(*) FROM t WHERE _owner = 4217",
    "SELECT COUNT(*) FROM t WHERE rowid = 1",
    "SELECT COUNT(*) FROM t WHERE nosuch > 1",
    "SELECT COUNT(*) FROM t TABLESAMPLE BERNOULLI (10)",
    "SELECT COUNT(*) FROM t FOR UPDATE",
    "SELECT COUNT(*) FROM ONLY t",
    "SELECT COUNT(*) FROM t HAVING nosuch > 1",
    "SELECT COUNT(*) FROM t GROUP BY x * 0",
    "SELECT h * 0, COUNT(*) FROM t GROUP BY h * 0",
    "SELECT g, COUNT(*) FROM t GROUP BY ROLLUP (g)",
    "SELECT COUNT(*) OVER () FROM t",
    "SELECT COUNT(*) FILTER (WHERE x > 0) FROM t",
    "SELECT COUNT(*) INTO u FROM t",
    "SELECT COUNT(*) FROM nosuch",
    "SELECT AVG(s) FROM t",
    "SELECT SUM(big * big * big) FROM t",
    "SELECT SUM(big) FROM t",
    "SELECT COUNT(*) FROM t WHERE x = NULL",
    "SELECT SUM(amount * amount * amount * amount * amount * amount * amount * amount * amount * amount) FROM t",
    "SELECT big, COUNT(*) FROM t GROUP BY big",
    "SELECT uid, uid, day, h, x, COUNT(*) FROM t GROUP BY uid, day, h, x",
    "SELECT COUNT(*) FROM t WHERE " + "(" * 10_000 + "x" + ")" * 10_000 + " > 0",
    "SELECT COUNT(*) FROM t WHERE x IN (" + "1," * 100_000 + "1)",
    "SELECT COUNT(*) FROM t WHERE x > 1e400",
    "SELECT COUNT(*) FROM t -- \x00",
)


class Generator:
    """Random questions within the grammar. The same seed gives the same questions."""

    def __init__(self, seed: int) -> None:
        self._drawn = random.Random(seed)

    def question(self) -> str:
        draw = self._drawn
        keys = draw.sample(["g", "h", "flag", "day"], draw.choice([0, 0, 1, 1, 2, 3]))
        outputs = [self._output(number) for number in range(draw.randint(1, 4))]
        shown = [*outputs, *(key for key in keys if draw.random() < 0.8)]
        draw.shuffle(shown)
        where = f" WHERE {self.truth(draw.randint(1, 3))}" if draw.random() < 0.8 else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join(shown)} FROM t{where}{group}"

    def number(self, depth: int) -> str:
        draw = self._drawn
        if depth <= 0 or draw.random() < 0.2:
            return draw.choice(
                ["x", "n", "amount", "h", "uid", "big", "wide", "x", "n", str(draw.randint(0, 99)), "0", "0.5", "4217"]
            )
        a, b = self.number(depth - 1), self.number(depth - 1)
        return draw.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"({a} * {b})",
                f"({a} / {b})",
                f"({a} % {b})",
                f"(-{a})",
                f"ABS({a})",
                f"COALESCE({a}, {b})",
                f"NULLIF({a}, {b})",
                f"LEAST({a}, {b})",
                f"GREATEST({a}, {b}, 1)",
                f"CASE WHEN {self.truth(depth - 1)} THEN {a} ELSE {b} END",
                f"CASE WHEN {self.truth(depth - 1)} THEN {a} END",
            ]
        )

    def truth(self, depth: int) -> str:
        draw = self._drawn
        if depth <= 0:
            return draw.choice(
                ["flag", "x > 3", "uid = 4217", "s LIKE '%a%'", "g = 'lonely'", "s IS NULL", "n IN (1, 2, 50)",
                 "day = DATE '2024-01-03'", "at > TIMESTAMP '2024-05-01 00:00:00'", "word < 'b'", "g IS NOT NULL",
                 "TRUE"]
            )  # fmt: skip
        sign = draw.choice(["<", "<=", "=", "<>", ">", ">="])
        return draw.choice(
            [
                f"{self.number(depth)} {sign} {self.number(depth - 1)}",
                f"({self.truth(depth - 1)} AND {self.truth(depth - 1)})",
                f"({self.truth(depth - 1)} OR {self.truth(depth - 1)})",
                f"NOT ({self.truth(depth - 1)})",
                f"({self.truth(depth - 1)}) IS NOT TRUE",
                f"{self.number(depth - 1)} BETWEEN {self.number(0)} AND {self.number(0)}",
                f"({self.number(depth - 1)}) IS NULL",
            ]
        )

    def _output(self, number: int) -> str:
        kind = self._drawn.choice(["COUNT(*)", "COUNT(DISTINCT uid)", "COUNT({})", "SUM({})", "SUM({})", "AVG({})"])
        return f"{kind.format(self.number(self._drawn.randint(0, 3)))} AS o{number}"
