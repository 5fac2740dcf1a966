"""The whole grammar: which syntax nodes may occur, and which of their arguments may be set. All else is refused."""

from __future__ import annotations

from sqlglot import exp

_TWO = frozenset({"this", "expression"})

ALLOWED: dict[type[exp.Expr], frozenset[str]] = {
    # the query
    exp.Select: frozenset(
        {"expressions", "from_", "where", "group", "joins", "with_", "having", "distinct", "order", "limit", "offset"}
    ),
    exp.Join: frozenset({"this", "on", "using", "side", "kind"}),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.Union: frozenset({"this", "expression", "distinct"}),
    exp.Exists: frozenset({"this"}),
    exp.Filter: _TWO,
    exp.From: frozenset({"this"}),
    exp.Table: frozenset({"this", "alias", "db", "joins"}),
    exp.TableAlias: frozenset({"this"}),
    exp.Where: frozenset({"this"}),
    exp.Having: frozenset({"this"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Group: frozenset({"expressions", "all"}),
    exp.Alias: frozenset({"this", "alias"}),
    # aggregates
    exp.Count: frozenset({"this", "big_int"}),
    exp.CountIf: frozenset({"this"}),
    exp.Distinct: frozenset({"expressions"}),
    exp.Sum: frozenset({"this"}),
    exp.Avg: frozenset({"this"}),
    exp.Min: frozenset({"this"}),
    exp.Max: frozenset({"this"}),
    exp.Variance: frozenset({"this"}),
    exp.VariancePop: frozenset({"this"}),
    exp.Stddev: frozenset({"this"}),
    exp.StddevSamp: frozenset({"this"}),
    exp.StddevPop: frozenset({"this"}),
    exp.LogicalOr: frozenset({"this"}),
    exp.LogicalAnd: frozenset({"this"}),
    exp.Median: frozenset({"this"}),
    exp.Mode: frozenset({"this"}),
    exp.PercentileCont: frozenset({"this"}),
    exp.PercentileDisc: frozenset({"this"}),
    **dict.fromkeys((exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2), _TWO),
    **dict.fromkeys((exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy), _TWO),
    exp.WithinGroup: _TWO,
    exp.Array: frozenset({"expressions"}),
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Star: frozenset(),
    # names and literals
    exp.Column: frozenset({"this", "table", "db"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: frozenset({"this"}),
    exp.Null: frozenset(),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions"}),
    exp.DataTypeParam: frozenset({"this"}),
    # arithmetic
    exp.Paren: frozenset({"this"}),
    exp.Neg: frozenset({"this"}),
    exp.Add: _TWO,
    exp.Sub: _TWO,
    exp.Mul: _TWO,
    exp.Div: _TWO | {"typed"},
    exp.Mod: _TWO,
    exp.Abs: frozenset({"this"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    exp.Coalesce: frozenset({"this", "expressions"}),
    exp.Nullif: _TWO,
    exp.Least: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Greatest: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Floor: frozenset({"this"}),
    exp.Ceil: frozenset({"this"}),
    exp.Round: frozenset({"this", "decimals"}),
    exp.Trunc: frozenset({"this", "decimals"}),
    exp.Sign: frozenset({"this"}),
    exp.WidthBucket: frozenset({"this", "min_value", "max_value", "num_buckets"}),
    exp.Sqrt: frozenset({"this"}),
    exp.Ln: frozenset({"this"}),
    exp.Log: _TWO,
    exp.Exp: frozenset({"this"}),
    exp.Pow: _TWO,
    # days and moments
    exp.Interval: frozenset({"this", "unit", "fraction_in_string"}),
    exp.Var: frozenset({"this"}),
    exp.Extract: _TWO,
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.TimeToStr: frozenset({"this", "format"}),
    exp.AtTimeZone: frozenset({"this", "zone"}),
    # texts
    exp.Lower: frozenset({"this"}),
    exp.Upper: frozenset({"this"}),
    exp.Length: frozenset({"this"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Left: _TWO,
    exp.Right: _TWO,
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.SplitPart: frozenset({"this", "delimiter", "part_index"}),
    exp.Concat: frozenset({"expressions", "safe", "coalesce"}),
    exp.Trim: _TWO | {"position"},
    exp.DPipe: _TWO | {"safe"},
    # truths
    exp.And: _TWO,
    exp.Or: _TWO,
    exp.Not: frozenset({"this"}),
    exp.NullSafeEQ: _TWO,
    exp.NullSafeNEQ: _TWO,
    exp.EQ: _TWO,
    exp.NEQ: _TWO,
    exp.LT: _TWO,
    exp.LTE: _TWO,
    exp.GT: _TWO,
    exp.GTE: _TWO,
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.Is: _TWO | {"negate"},
    exp.Like: _TWO | {"negate"},
    exp.ILike: _TWO | {"negate"},
    exp.Escape: _TWO,
}

# Arguments that the parser takes to be optional, and that have no meaning left out.
NEEDED: dict[type[exp.Expr], frozenset[str]] = {
    exp.SplitPart: ALLOWED[exp.SplitPart],
    **dict.fromkeys((exp.RegrIntercept, exp.RegrR2, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy, exp.RegrSlope), _TWO),
}

# Windows and QUALIFY, in derived tables alone, and what may stand before OVER.
WINDOWS: dict[type[exp.Expr], frozenset[str]] = {
    exp.Window: frozenset({"this", "partition_by", "order", "over"}),
    exp.Qualify: frozenset({"this"}),
    exp.Select: ALLOWED[exp.Select] | {"qualify"},
    exp.RowNumber: frozenset(),
    exp.Rank: frozenset(),
    exp.DenseRank: frozenset(),
    exp.Lag: frozenset({"this", "offset"}),
    exp.Lead: frozenset({"this", "offset"}),
}

OWN_FUNCTIONS = frozenset({"OWNER_SUM", "OWNER_COUNT"})  # names that no dialect knows

MOST_OPTIONS = 1_000  # values in one IN list
MOST_SERIES = 48  # roots, logarithms and powers in one text

# What to say about arguments that parse silently but are not supported: the words to point at, what, what instead.
# {question}, {keys} and {owner} stand for names of the table asked about, {name} for the word that was written.
_AFTERWARDS = "Groups come back whole, in the order of their public keys: sort, filter or cut the answer instead."
_ONE_TABLE = "Ask about one registered table: {question}"
ARGUMENTS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "percent": (("FETCH",), "FETCH takes a number of rows only.", "Write FETCH FIRST 10 ROWS ONLY."),
    "with_ties": (("FETCH",), "FETCH takes a number of rows only.", "Write FETCH FIRST 10 ROWS ONLY."),
    "with_fill": (("WITH",), "WITH FILL is not supported.", "Leave it out: all public groups are there."),
    "joins": (
        (),
        "parentheses that begin inside parentheses round joins are not supported.",
        "Leave the inner ones out: (a JOIN b ON ... JOIN c ON ...)",
    ),
    "with_": (
        ("WITH",),
        "WITH before a UNION of answers is not supported.",
        "Ask one question for each part, with WITH in it.",
    ),
    "method": (("NATURAL", "ASOF"), "NATURAL and ASOF joins are not supported.", "Write JOIN ... USING (column)."),
    "connect": (("START", "CONNECT"), "CONNECT BY is not supported.", _ONE_TABLE),
    "pivots": (
        ("PIVOT", "UNPIVOT"),
        "PIVOT is not supported.",
        "Write COUNT(*) FILTER (WHERE condition) for each column.",
    ),
    "laterals": (("LATERAL",), "LATERAL is not supported.", _ONE_TABLE),
    "unnest": (("UNNEST",), "UNNEST is not supported.", "List the values: x IN (1, 2, 3)."),
    "locks": (("FOR",), "FOR UPDATE and FOR SHARE are not supported.", "Leave them out: a query only reads."),
    "sample": (("TABLESAMPLE",), "TABLESAMPLE is not supported.", "Leave it out: the noise already hides each owner."),
    "only": (("ONLY",), "ONLY is not supported.", "Write FROM and the table's name."),
    "catalog": ((), "tables have no database here.", "Write the registered table's name alone."),
    "columns": ((), "a table alias cannot rename columns.", "Use the declared column names."),
    "into": (("INTO",), "SELECT INTO is not supported.", "Leave INTO out: a query only reads."),
    "windows": (("WINDOW",), "WINDOW is not supported here.", "Write OVER (PARTITION BY ... ORDER BY ...) itself."),
    "qualify": (
        ("QUALIFY",),
        "QUALIFY is not supported here.",
        "It stands beside windows over answers, and in derived tables.",
    ),
    "hint": (("/*+",), "hints are not supported.", "Remove the hint."),
    "rollup": (("ROLLUP",), "WITH ROLLUP is not supported.", "Write GROUP BY ROLLUP (a, b)."),
    "cube": (("CUBE",), "WITH CUBE is not supported.", "Write GROUP BY CUBE (a, b)."),
    "symmetric": (("SYMMETRIC",), "BETWEEN SYMMETRIC is not supported.", "Write the lower bound first."),
    "expressions": ((), "too many arguments here.", "Give one argument."),
    "false": (("IF", "IIF"), "{name} is not supported.", "Write CASE WHEN condition THEN x ELSE y END."),
}

# What to say about syntax nodes.
AGGREGATES = (
    "Supported are COUNT, COUNT(DISTINCT {owner}), SUM, AVG, VARIANCE, STDDEV, CORR, COVAR_POP, REGR_SLOPE, MIN, MAX, "
    "MEDIAN, PERCENTILE_CONT, MODE, OWNER_SUM(x, lower, upper) and OWNER_COUNT(upper)."
)
_FUNCTIONS = (
    "Supported are ABS, SIGN, FLOOR, CEIL, ROUND, TRUNC, MOD, SQRT, LN, LOG, EXP, POWER, WIDTH_BUCKET, LEAST, "
    "GREATEST, COALESCE, NULLIF, CASE, CAST, EXTRACT, DATE_TRUNC, TO_CHAR, LENGTH, POSITION, SUBSTRING, LEFT, RIGHT, "
    "SPLIT_PART, TRIM, CONCAT, LOWER and UPPER, with + - * / % and ||."
)
_PATTERNS = "Use LIKE with % and _, such as name LIKE 'A%'."
NODES: dict[str, tuple[str, str]] = {
    "Intersect": ("INTERSECT is not supported.", "Combine conditions with AND."),
    "Except": ("EXCEPT is not supported.", "Combine conditions with AND NOT."),
    "Window": ("window functions are not supported.", "Use COUNT, SUM or AVG with GROUP BY."),
    "IgnoreNulls": ("IGNORE NULLS is not supported.", "Leave it out, or keep rows without NULL by WHERE before."),
    "GroupConcat": ("{name} is not supported.", AGGREGATES),
    "Rollup": ("ROLLUP is not supported.", "{keys}"),
    "Cube": ("CUBE is not supported.", "{keys}"),
    "GroupingSets": ("GROUPING SETS is not supported.", "{keys}"),
    "RegexpLike": ("regular expressions are not supported.", _PATTERNS),
    "RegexpILike": ("regular expressions are not supported.", _PATTERNS),
    "SimilarTo": ("SIMILAR TO is not supported.", _PATTERNS),
    "IntDiv": ("DIV is not supported.", "Write TRUNC(x / y)."),
    "Dot": ("fields and methods of a value are not supported.", "Write table.column, or a function of it: LENGTH(x)."),
    "Bracket": ("[ ] is not supported.", "Use SUBSTRING(x, 1, 1) for characters of a text."),
    "Collate": ("COLLATE is not supported.", 'Leave COLLATE "C" out: texts are compared so. There is no other order.'),
    "Parameter": ("parameters are not supported.", "Write the value itself into the query."),
    "Placeholder": ("parameters are not supported.", "Write the value itself into the query."),
    "Tuple": ("rows of values are not supported.", "Compare each column by itself and combine with AND."),
    "Any": ("ANY and SOME are not supported.", "List the values: x IN (1, 2, 3)."),
    "All": ("ALL is not supported.", "Combine comparisons with AND."),
    "Lateral": ("LATERAL is not supported.", _ONE_TABLE),
    "Values": ("VALUES is not supported.", _ONE_TABLE),
}
_LITERALS = ("HexString", "BitString", "ByteString", "RawString", "UnicodeString", "National")
NODES |= dict.fromkeys(_LITERALS, ("this kind of literal is not supported.", "Write 'text' or a decimal number."))
_BITS = ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitwiseLeftShift", "BitwiseRightShift")
NODES |= dict.fromkeys(_BITS, ("operators on bits are not supported.", "Use + - * / % and comparisons."))
OTHERWISE = _FUNCTIONS

CLAUSES = "The page on SQL lists the clauses that are."

# What to say about functions, by the name they are called by.
_CLOCK = ("{name} changes from one moment to the next.", "Write the date or time itself: DATE '2024-12-31'.")
_DICE = ("{name} gives another value at each call.", "Leave it out: a value must depend on its row alone.")
_PARTIAL = ("{name} fails or overflows for some values.", "Use + - * and /, or compute it from the answer.")
_READING = ("{name} fails on some texts.", "Declare the column with the type that it has.")
FORMATS = ("{name} is not supported.", "Write TO_CHAR(x, 'YYYY-MM'), EXTRACT(part FROM x) or DATE_TRUNC('month', x).")
_RANKED = "Write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x), or MEDIAN(x)."
RANKS = ("{name} is not supported.", _RANKED)
_REGULAR = ("regular expressions are not supported.", _PATTERNS)
_BETWEEN_DATES = (
    "Write b - a for days, and for months (EXTRACT(YEAR FROM b) - EXTRACT(YEAR FROM a)) * 12 + EXTRACT(MONTH FROM b) - "
    "EXTRACT(MONTH FROM a)."
)
WEEKDAYS = "Write EXTRACT(DOW FROM x), where 0 is Sunday, or EXTRACT(ISODOW FROM x), where 1 is Monday and 7 Sunday."
FUNCTIONS: dict[str, tuple[str, str]] = {
    "ARRAY": ("arrays are not supported here.", "List the values: x IN (1, 2, 3)."),
    **dict.fromkeys(("NOW", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME"), _CLOCK),
    **dict.fromkeys(
        ("LOCALTIMESTAMP", "CLOCK_TIMESTAMP", "STATEMENT_TIMESTAMP", "TRANSACTION_TIMESTAMP", "TIMEOFDAY"),
        _CLOCK,
    ),
    **dict.fromkeys(("RANDOM", "RAND", "SETSEED", "GEN_RANDOM_UUID", "UUID", "NEXTVAL", "CURRVAL", "LASTVAL"), _DICE),
    **dict.fromkeys(("CBRT", "FACTORIAL"), _PARTIAL),
    **dict.fromkeys(("ASIN", "ACOS", "ATAN", "SIN", "COS", "TAN", "RADIANS", "DEGREES"), _PARTIAL),
    **dict.fromkeys(("TO_DATE", "TO_TIMESTAMP", "TO_NUMBER", "PARSE_DATE", "PARSE_TIMESTAMP", "STRPTIME"), _READING),
    **dict.fromkeys(("REGEXP_MATCHES", "REGEXP_MATCH", "REGEXP_LIKE", "REGEXP_REPLACE", "REGEXP_SUBSTR"), _REGULAR),
    **{
        part: ("{name} is not supported.", f"Write EXTRACT({part} FROM x).")
        for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    },
    **dict.fromkeys(("DAYOFWEEK", "WEEKDAY"), ("{name} is not supported.", WEEKDAYS)),
    "DATE": ("{name} is not supported.", "Write CAST(x AS DATE)."),
    **dict.fromkeys(
        ("STRFTIME", "DATE_FORMAT", "FORMAT", "FORMAT_DATE", "FORMAT_DATETIME", "FORMAT_TIMESTAMP"), FORMATS
    ),
    **dict.fromkeys(("QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC", "PERCENTILE", "PERCENTILE_APPROX"), RANKS),
    **dict.fromkeys(("APPROX_QUANTILE", "APPROX_QUANTILES", "APPROX_PERCENTILE"), RANKS),
    "APPROX_COUNT_DISTINCT": ("{name} is not supported.", "Write COUNT(DISTINCT x)."),
    "SAFE_DIVIDE": ("{name} is not supported.", "Write x / NULLIF(y, 0)."),
    **dict.fromkeys(("DATEDIFF", "DATE_DIFF", "AGE"), ("{name} is not supported.", _BETWEEN_DATES)),
    "TRY_CAST": ("{name} is not supported.", "Declare the column with its type."),
    "OWNER_AVG": ("{name} is not supported.", "Average over a derived table that is grouped by the owner."),
    "TIMEZONE": ("{name} is not supported.", "Write x AT TIME ZONE 'Europe/Berlin'."),
    "INITCAP": ("{name} is not supported.", "Write x ILIKE 'text' to compare in any case."),
}

# How functions are written whose arguments others write in another way.
FORMS = {
    "PERCENTILE_CONT": _RANKED,
    "PERCENTILE_DISC": _RANKED.replace("CONT", "DISC"),
    "MEDIAN": "Write MEDIAN(x).",
    "MODE": "Write MODE() WITHIN GROUP (ORDER BY x).",
}
