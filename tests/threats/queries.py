"""Questions for the neighbour harness: the whole grammar, nasty operators, hostile texts.

A new query form joins the harness by one line in `FORMS`.
"""

from __future__ import annotations

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
    "totals by a huge key": "SELECT AVG(m) FROM (SELECT uid, big, COUNT(*) AS m FROM t GROUP BY uid, big) q",
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
    # values chosen, spread, totals of owners
    "median": "SELECT MEDIAN(x) FROM t",
    "extremes of values": "SELECT g, MIN(amount), MAX(day), MAX(at) FROM t GROUP BY g",
    "percentile": "SELECT h, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY amount) FROM t GROUP BY h",
    "mode": "SELECT MODE() WITHIN GROUP (ORDER BY g), MODE() WITHIN GROUP (ORDER BY n) FROM t",
    "spread": "SELECT h, VARIANCE(x), STDDEV_POP(amount) FROM t GROUP BY h",
    "distinct values": "SELECT COUNT(DISTINCT x), COUNT(DISTINCT s), COUNT(DISTINCT day) FROM t",
    "distinct values by group": "SELECT g, COUNT(DISTINCT n) FROM t GROUP BY g",
    "filter": "SELECT COUNT(*) FILTER (WHERE x > 0), SUM(x) FILTER (WHERE flag), MEDIAN(x) FILTER (WHERE h = 3) FROM t",
    "totals of owners": "SELECT OWNER_SUM(x, -50, 200), OWNER_COUNT(10) FROM t",
    "totals of owners by group": "SELECT n, OWNER_SUM(amount, 0, 5), OWNER_COUNT(1) FROM t GROUP BY n",
    # computed and private keys
    "bins": "SELECT CASE WHEN x < 0 THEN 'low' WHEN x < 500 THEN 'mid' END AS bin, COUNT(*) FROM t GROUP BY bin",
    "buckets": "SELECT x / 100 AS b, n % 3, COUNT(*), SUM(x) FROM t GROUP BY 1, 2",
    "regrouped": "SELECT h * 0, COUNT(*), OWNER_COUNT(1) FROM t GROUP BY h * 0",
    "periods": "SELECT DATE_TRUNC('month', at), EXTRACT(DOW FROM day), COUNT(*) FROM t GROUP BY 1, 2",
    "keys from texts": "SELECT s, COUNT(*), SUM(x), COUNT(DISTINCT uid) FROM t GROUP BY s",
    "keys from wide numbers": "SELECT big, COUNT(*), MEDIAN(x), OWNER_SUM(n, 0, 9) FROM t GROUP BY big",
    "keys from several": "SELECT word, g, COUNT(*) FROM t GROUP BY word, g",
    # relations
    "join with a public table": "SELECT b.kind, COUNT(*), SUM(a.x * b.weight) "
    "FROM t a JOIN pub b ON a.n = b.code GROUP BY 1",
    "left join with a public table": "SELECT b.kind, COUNT(*), SUM(b.rate) "
    "FROM t a LEFT JOIN pub b ON a.n = b.code GROUP BY 1",
    "join of one people": "SELECT b.city, COUNT(*), SUM(a.x) FROM t a JOIN p b ON a.uid = b.uid GROUP BY b.city",
    "left join of one people": "SELECT a.city, COUNT(b.x), COUNT(*) FROM p a LEFT JOIN t b ON a.uid = b.uid GROUP BY "
    "a.city",
    "join with itself": "SELECT COUNT(*), SUM(a.x - b.x), COUNT(DISTINCT a.uid) FROM t a JOIN t b ON a.uid = b.uid",
    "join by a foreign key": "SELECT b.g, SUM(a.qty), COUNT(DISTINCT a.uid) "
    "FROM c a JOIN t b ON a.eid = b.eid GROUP BY b.g",
    "join of four": "SELECT e.kind, COUNT(*) FROM c a JOIN t b ON a.eid = b.eid JOIN p d ON b.uid = d.uid "
    "LEFT JOIN pub e ON a.code = e.code WHERE d.member GROUP BY e.kind",
    "derived rows": "SELECT q.k, SUM(q.v) FROM (SELECT uid, h AS k, x * 2 AS v FROM t WHERE flag) q GROUP BY q.k",
    "with": "WITH a AS (SELECT uid, x FROM t), b AS (SELECT uid, x + 1 AS y FROM a) SELECT SUM(y) FROM b",
    "totals": "SELECT AVG(q.total), COUNT(*) FROM (SELECT uid, SUM(x) AS total FROM t GROUP BY uid) q",
    "totals by key": "SELECT q.g, SUM(q.m) FROM (SELECT uid, g, COUNT(*) AS m FROM t GROUP BY uid, g) q GROUP BY q.g",
    "totals chosen by owner": "SELECT COUNT(*) FROM (SELECT uid FROM t GROUP BY uid HAVING COUNT(*) > 2) q",
    "join with totals": "SELECT a.city, SUM(b.m) FROM p a JOIN (SELECT uid, COUNT(*) AS m FROM t GROUP BY uid) b "
    "ON a.uid = b.uid GROUP BY a.city",
    "exists": "SELECT city, COUNT(*) FROM p WHERE EXISTS (SELECT 1 FROM t WHERE t.uid = p.uid AND t.x > "
    "p.age) GROUP BY city",
    "not exists": "SELECT COUNT(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.uid = t.uid AND c.qty > t.h)",
    "in owners": "SELECT COUNT(*) FROM t WHERE uid IN (SELECT uid FROM p WHERE age > 50)",
    "in a public table": "SELECT COUNT(*) FROM t WHERE n IN (SELECT code FROM pub WHERE rate > 0.5)",
    # everyday forms
    "roots and logarithms": "SELECT SUM(SQRT(x)), AVG(LN(amount)), SUM(LOG(2, n)) FROM t WHERE LOG(x) > 1",
    "powers": "SELECT SUM(POWER(n, 2)), SUM(EXP(LEAST(n, 4))), AVG(POWER(1.05, n)) FROM t WHERE SQRT(wide) > 2",
    "roots as keys": "SELECT FLOOR(SQRT(h)) AS k, COUNT(*) FROM t GROUP BY k",
    "true division": "SELECT SUM(CAST(x AS DOUBLE PRECISION) / n), AVG(n::float / 7) FROM t",
    "funnel": "SELECT COUNT(DISTINCT uid) FILTER (WHERE x > 0), COUNT(DISTINCT CASE WHEN flag THEN uid END) FROM t",
    "funnel by group": "SELECT n, COUNT(DISTINCT CASE WHEN x > 5 THEN uid END), COUNT_IF(flag) FROM t GROUP BY ALL",
    "funnel by key from the data": "SELECT s, COUNT(DISTINCT uid) FILTER (WHERE x > 0) FROM public.t GROUP BY s",
    "distinct from": "SELECT COUNT(*) FROM t WHERE x IS DISTINCT FROM n AND s IS NOT DISTINCT FROM word",
    "anti-join": "SELECT a.city, COUNT(*), COUNT(b.uid) FROM p a LEFT JOIN t b ON a.uid = b.uid AND b.x > 500 "
    "WHERE b.uid IS NULL OR a.age > 50 GROUP BY a.city",
    "right join": "SELECT SUM(b.age), COUNT(*), COUNT(a.uid) FROM t a RIGHT JOIN p b ON a.uid = b.uid",
    "joins in parentheses": "SELECT COUNT(*) FROM (t a JOIN p b ON a.uid = b.uid) JOIN pub e ON a.n = e.code",
    "percentiles": "SELECT h, PERCENTILE_CONT(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY x) FROM t GROUP BY h",
    "regression": "SELECT h, CORR(x, n), COVAR_SAMP(amount, x), REGR_INTERCEPT(n, x) FROM t GROUP BY h",
    "regression filtered": "SELECT REGR_R2(x, amount) FILTER (WHERE flag), REGR_COUNT(x, n), REGR_AVGX(x, n) FROM t",
    "ends of texts": "SELECT RIGHT(s, 3) AS e, COUNT(*) FROM t WHERE SPLIT_PART(word, 'a', 2) <> '' GROUP BY e",
    "letters of texts": "SELECT UPPER(s) AS u, COUNT(*) FROM t WHERE LOWER(word) <> word OR LOWER(s) = 'a' GROUP BY 1",
    "places in texts": "SELECT SUM(POSITION('a' IN s)), COUNT(DISTINCT CONCAT(s, '-', word)) FROM t",
    "labels of days": "SELECT TO_CHAR(day, 'Dy') AS d, TO_CHAR(at, 'YYYY-MM') AS m, COUNT(*) FROM t GROUP BY d, m",
    "first days": "SELECT q.f, COUNT(*) FROM (SELECT uid, MIN(day) AS f FROM t GROUP BY uid) q GROUP BY q.f",
    "different values of owners": "SELECT SUM(q.a), SUM(q.b) FROM (SELECT uid, COUNT(DISTINCT x) AS a, "
    "COUNT(DISTINCT s) AS b FROM t GROUP BY uid) q",
    "middles of owners": "SELECT AVG(q.m), SUM(q.k) FROM (SELECT uid, MEDIAN(x) AS m, MEDIAN(amount) AS k FROM t "
    "GROUP BY uid) q",
    "any and all of owners": "SELECT q.a, q.b, COUNT(*) FROM (SELECT uid, BOOL_OR(flag) AS a, BOOL_AND(x > 3) AS b "
    "FROM t GROUP BY uid) q GROUP BY q.a, q.b",
    # outer joins, many public rows, queries as values
    "full join": "SELECT a.city, COUNT(*), SUM(b.x), COUNT(DISTINCT COALESCE(a.uid, b.uid)) FROM p a FULL JOIN t b "
    "ON a.uid = b.uid GROUP BY a.city",
    "full join of nobody's rows": "SELECT COUNT(*), SUM(b.x), SUM(a.age) FROM p a FULL JOIN t b ON a.uid = b.uid "
    "AND a.age > 500",
    "full join of itself": "SELECT COUNT(*), COUNT(a.eid), SUM(b.n) FROM t a FULL JOIN t b ON a.uid = b.uid "
    "AND a.eid = b.eid AND a.x > 3",
    "rows of one side": "SELECT COUNT(*) FROM p a FULL JOIN c b ON a.uid = b.uid WHERE a.uid IS NULL",
    "totals of a full join": "SELECT SUM(q.m) FROM (SELECT COALESCE(a.uid, b.uid) AS uid, COUNT(*) AS m FROM p a "
    "FULL JOIN t b ON a.uid = b.uid GROUP BY 1) q",
    "totals in groups of a full join": "SELECT b.h, OWNER_COUNT(2), COUNT(DISTINCT b.day) FROM p a FULL JOIN t b "
    "ON a.uid = b.uid GROUP BY b.h",
    "later right join": "SELECT d.city, COUNT(*), SUM(a.qty) FROM c a JOIN t b ON a.eid = b.eid RIGHT JOIN p d "
    "ON a.uid = d.uid GROUP BY d.city",
    "left join of parentheses": "SELECT COUNT(*), SUM(b.x) FROM p d LEFT JOIN (c a JOIN t b ON a.eid = b.eid) "
    "ON b.uid = d.uid",
    "cross join": "SELECT b.kind, COUNT(*), SUM(a.x * b.weight) FROM t a CROSS JOIN pub b GROUP BY b.kind",
    "range join": "SELECT b.kind, COUNT(*), SUM(b.rate), COUNT(DISTINCT a.uid) FROM t a JOIN pub b "
    "ON a.n BETWEEN b.weight AND b.code GROUP BY b.kind",
    "left range join": "SELECT COUNT(*), COUNT(b.code) FROM t a LEFT JOIN pub b ON a.n > b.weight AND a.n < b.code",
    "public rows that repeat": "SELECT b.rate, COUNT(*), SUM(a.x) FROM t a JOIN pub b ON a.h = b.weight "
    "GROUP BY b.rate",
    "totals in groups of many public rows": "SELECT b.weight, OWNER_COUNT(3), OWNER_SUM(a.x, 0, 9) FROM t a JOIN pub b "
    "ON a.n <= b.code GROUP BY b.weight",
    "value of a public table": "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(weight) FROM pub WHERE kind = 'old')",
    "value of the owner's rows": "SELECT city, COUNT(*), SUM((SELECT COUNT(*) FROM t WHERE t.uid = p.uid)) FROM p "
    "WHERE (SELECT SUM(x) FROM t WHERE t.uid = p.uid) > 5 GROUP BY city",
    "value beside the owner's rows": "SELECT COUNT(*) FROM t a WHERE a.x >= (SELECT AVG(b.x) FROM t b WHERE "
    "b.uid = a.uid AND b.h = a.h)",
    "windows": "SELECT q.g, COUNT(*), SUM(q.x - q.b) FROM (SELECT uid, g, x, LAG(x) OVER (PARTITION BY uid ORDER BY "
    "day, h DESC) AS b, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY x) AS r FROM t) q WHERE q.r < 3 GROUP BY q.g",
    "rows that a window keeps": "SELECT q.g, COUNT(*), SUM(q.x) FROM (SELECT uid, g, x FROM t WHERE flag "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY uid ORDER BY day) = 1 OR x > LAG(x) OVER (PARTITION BY uid "
    "ORDER BY h)) q GROUP BY q.g",
    "ranks": "SELECT q.r, q.d, COUNT(*) FROM (SELECT uid, RANK() OVER (PARTITION BY uid, flag ORDER BY h) AS r, "
    "DENSE_RANK() OVER (PARTITION BY uid ORDER BY n DESC) AS d FROM t) q GROUP BY q.r, q.d",
    "window of many public rows": "SELECT SUM(q.w), COUNT(q.l) FROM (SELECT a.uid, b.weight AS w, LEAD(b.weight, 3) "
    "OVER (PARTITION BY a.uid ORDER BY a.h) AS l FROM t a JOIN pub b ON a.n <= b.code) q",
    "groups that a public table rules out": "SELECT b.kind, a.n, COUNT(*) FROM t a JOIN pub b ON a.n = b.code "
    "WHERE b.weight > 1 GROUP BY 1, 2",
    "union": "SELECT q.w, SUM(q.v) FROM (SELECT uid, x AS v, flag AS w FROM t UNION ALL SELECT uid, n AS v, "
    "x > 3 AS w FROM t) q GROUP BY 1",
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
    "logarithm of one owner": "SELECT SUM(LN(uid - 4217)), SUM(SQRT(4217 - uid)), COUNT(POWER(uid - 4217, -1)) FROM t",
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
    "SELECT DISTINCT g FROM t",
    "SELECT MAX(s) FROM t",
    "SELECT STRING_AGG(s, ',') FROM t",
    "SELECT SUM(DISTINCT x) FROM t",
    "SELECT COUNT(*) FROM t WHERE s::int > 0",
    "SELECT COUNT(*) FROM t WHERE uid = 4217 AND CAST(s AS INTEGER) > 0",
    "SELECT COUNT(*) FROM t WHERE EXP(1000) > 0",
    "SELECT COUNT(*) FROM t WHERE EXP(x) > 0",
    "SELECT COUNT(*) FROM t WHERE POWER(x, 0.5) > 0",
    "SELECT COUNT(*) FROM t WHERE x = (SELECT x FROM t)",
    "SELECT COUNT(*) FROM t WHERE x IN (SELECT x FROM t)",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t)",
    "SELECT COUNT(*) FROM t AS a, t AS b",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.x = b.x",
    "SELECT COUNT(*) FROM t a CROSS JOIN p b",
    "SELECT COUNT(*) FROM t a JOIN p b ON a.n > b.age",
    "SELECT COUNT(*) FROM t a CROSS JOIN pub b JOIN p d ON d.age = b.code",
    "SELECT COUNT(*) FROM pub a LEFT JOIN t b ON a.code = b.n",
    "SELECT COUNT(*) FROM p a FULL JOIN t b ON a.age = b.n",
    "SELECT COUNT(*) FROM t a FULL JOIN pub b ON a.n = b.code",
    "SELECT COUNT(*) FROM t a RIGHT JOIN pub b ON a.n = b.code",
    "SELECT COUNT(*) FROM p a FULL JOIN t b ON a.uid = b.uid JOIN c d ON d.uid = a.uid",
    "SELECT COUNT(*) FROM p a FULL JOIN t b ON a.uid = b.uid JOIN c d ON d.uid = COALESCE(a.uid, a.uid)",
    "SELECT COUNT(*) FROM p WHERE age > (SELECT COUNT(*) FROM t WHERE t.n = p.age)",
    "SELECT COUNT(*) FROM p WHERE age > (SELECT COUNT(*) FROM t WHERE t.uid > p.uid)",
    "SELECT COUNT(*) FROM p WHERE age > (SELECT x FROM t WHERE t.uid = p.uid)",
    "SELECT COUNT(*) FROM p WHERE age > (SELECT MAX(b.x) FROM t a CROSS JOIN t b WHERE a.uid = p.uid)",
    "SELECT COUNT(*) FROM p WHERE age > (SELECT code FROM pub WHERE rate > 1)",
    "SELECT COUNT(*) FROM p a JOIN t b ON a.uid = b.uid OR a.age = b.n",
    "SELECT COUNT(*) FROM pub",
    "SELECT COUNT(*) FROM t NATURAL JOIN p",
    "SELECT COUNT(*) FROM t, LATERAL (SELECT 1) q",
    "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)",
    "SELECT SUM(x - (SELECT AVG(x) FROM t)) FROM t",
    "SELECT (SELECT COUNT(*) FROM t) FROM t",
    "SELECT COUNT(*) FROM p WHERE age IN (SELECT n FROM t)",
    "SELECT COUNT(*) FROM p WHERE EXISTS (SELECT 1 FROM t WHERE t.n = p.age)",
    "SELECT COUNT(*) FROM p WHERE uid = ANY (SELECT uid FROM t)",
    "SELECT COUNT(*) FROM (SELECT DISTINCT uid, g FROM t) q",
    "SELECT COUNT(*) FROM (SELECT DISTINCT ON (g) uid, g FROM t) q",
    "SELECT COUNT(*) FROM (SELECT uid, g FROM t UNION SELECT uid, g FROM t) q",
    "SELECT COUNT(*) FROM (SELECT uid, g FROM t INTERSECT SELECT uid, g FROM t) q",
    "SELECT COUNT(*) FROM (SELECT uid, x FROM t ORDER BY x LIMIT 3) q",
    "SELECT SUM(q.m) FROM (SELECT g, COUNT(*) AS m FROM t GROUP BY g) q",
    "SELECT COUNT(*) FROM t a JOIN (SELECT g, COUNT(*) AS m FROM t GROUP BY g) b ON a.g = b.g",
    "SELECT COUNT(*) FROM (SELECT uid, ROW_NUMBER() OVER (ORDER BY x) AS r FROM t) q WHERE q.r < 3",
    "SELECT COUNT(*) FROM t WHERE ROW_NUMBER() OVER () = 1",
    "SELECT COUNT(*) FROM (SELECT uid FROM t QUALIFY ROW_NUMBER() OVER (ORDER BY x) = 1) q",
    "SELECT COUNT(*) FROM t WHERE x > (SELECT MAX(b.x) FROM t b WHERE b.uid = t.uid QUALIFY TRUE)",
    "SELECT COUNT(*) FROM (SELECT uid, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x) AS r FROM t) q WHERE q.r < 3",
    "SELECT COUNT(*) FROM (SELECT uid, ROW_NUMBER() OVER (PARTITION BY uid) AS r FROM t) q WHERE q.r < 3",
    "SELECT COUNT(*) FROM (SELECT uid, SUM(x) OVER (PARTITION BY uid ORDER BY h) AS r FROM t) q WHERE q.r < 3",
    "SELECT COUNT(*) FROM (SELECT uid, LAG(x) OVER (PARTITION BY uid ORDER BY s) AS r FROM t) q WHERE q.r < 3",
    "SELECT uid, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY x) FROM t",
    "WITH RECURSIVE q AS (SELECT uid FROM t UNION ALL SELECT uid FROM q) SELECT COUNT(*) FROM q",
    "SELECT COUNT(*) FROM (SELECT uid, VARIANCE(x) AS m FROM t GROUP BY uid) q",
    "SELECT ARRAY_AGG(x) FROM t",
    "SELECT g, x, COUNT(*) FROM t GROUP BY g",
    "SELECT COUNT(*) FROM c WHERE qty IN (SELECT h FROM t)",
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
    "SELECT g, COUNT(*) FROM t GROUP BY ROLLUP (g)",
    "SELECT COUNT(*) OVER () FROM t",
    "SELECT COUNT(*) INTO u FROM t",
    "SELECT COUNT(*) FROM nosuch",
    "SELECT AVG(s) FROM t",
    "SELECT SUM(big * big * big) FROM t",
    "SELECT SUM(big) FROM t",
    "SELECT COUNT(*) FROM t WHERE x = NULL",
    "SELECT SUM(amount * amount * amount * amount * amount * amount * amount * amount * amount * amount) FROM t",
    "SELECT uid, uid, day, h, x, COUNT(*) FROM t GROUP BY uid, day, h, x",
    "SELECT COUNT(*) FROM t WHERE " + "(" * 10_000 + "x" + ")" * 10_000 + " > 0",
    "SELECT COUNT(*) FROM t WHERE x IN (" + "1," * 100_000 + "1)",
    "SELECT COUNT(*) FROM t WHERE x > 1e400",
    "SELECT COUNT(*) FROM t -- \x00",
)
