"""What a dialect means: one table of facts for each, so that what is not in it is not translated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dither.sql.text.dialects import bounded_rules, number_rules, text_rules, time_rules
from dither.sql.text.dialects.call import Rule
from dither.sql.text.dialects.lexicon import Lexicon
from dither.sql.text.dialects.time_rules import Parts, Units


@dataclass(frozen=True)
class Vocabulary:
    """The facts that translation asks for; the defaults are PostgreSQL's, or refuse."""

    name: str  # as people call it
    lexicon: Lexicon
    functions: Mapping[str, Rule]
    parts: Parts = field(default_factory=lambda: time_rules.PLAIN)  # of EXTRACT
    units: Units = field(default_factory=dict)  # of intervals
    division: Literal["whole", "exact"] = "exact"  # of whole numbers by whole numbers
    whole_division: Literal["cut", "of whole numbers"] = "cut"  # DIV, //: always cut, or only of whole numbers
    type_by_function: bool = False  # whether a rounded value, or one chosen from several, divides as none of ours does
    decimal_division: bool = True  # whether quotients of decimal numbers have six decimals or more
    quotients_are_floats: bool = False  # so that they are infinite by zero, and casts round halves to even
    remainder: Literal["same", "whole"] | None = None  # of decimal numbers: as PostgreSQL, or cut first
    to_whole: Literal["rounded", "cut"] | None = None  # a cast of decimal numbers
    to_decimal: bool = True  # whether casts to DECIMAL(p, s) round half away from zero
    to_date: bool = True  # whether a cast to DATE leaves the day
    to_moment: bool = True  # whether a cast to TIMESTAMP is a moment with fractions of a second
    dates_by_setting: bool = False  # whether a setting says how a quoted text without DATE is read as one
    to_truth: bool = True  # whether a cast to BOOLEAN leaves true and false alone
    moved_by_days: bool = True  # whether a date plus a number is a later date, or an error
    like_escape: str | None = None  # of LIKE without ESCAPE: none, or a backslash
    like: Literal["letters", "any ASCII case"] = "letters"
    simple_letters: bool = False  # whether LOWER and UPPER are Unicode's simple mapping, as here
    ascii_letters: bool = False  # whether LOWER and UPPER change no others
    brackets_in_like: bool = False
    concatenation: bool = True  # whether || joins texts and is NULL if one of them is
    collated: bool = False  # whether columns compare texts by rules of their own, such as in any case
    empty_is_null: bool = False
    nulls: Literal["large", "small", "last"] = "large"  # in ORDER BY that does not say, also of windows
    over_answers: bool = True  # whether what is computed from answers means there what it means here
    qualify: bool = False
    rollup: bool = True  # whether it has GROUP BY ROLLUP (a, b), CUBE and GROUPING SETS
    with_rollup: bool = False  # whether it has GROUP BY a, b WITH ROLLUP
    whole_frames: bool = False  # whether LAST_VALUE and the like see the whole partition unless a frame is written
    equals_is_alias: bool = False  # whether SELECT n = COUNT(*) names a column
    timestamps: bool = True  # whether it has them
    nulls_after_outer_joins: bool = True  # whether what an outer join does not find is NULL
    full_joins: bool = True  # whether FULL before JOIN is no name of the table before it
    instead: Mapping[str, str] = field(default_factory=dict)  # hints for functions that are not translated


_NUMBERS = number_rules.COMMON
_PARTS = time_rules.FUNCTIONS_OF_PARTS
_EVERYWHERE = _NUMBERS | number_rules.POWERS
_LOGS = number_rules.LN | number_rules.LOG10 | number_rules.POW
_SECONDS = time_rules.PLAIN | time_rules.WHOLE_SECONDS
_LENGTHS = time_rules.LENGTHS
_WEEKS = _LENGTHS | time_rules.MONDAY_WEEKS
_INTERVALS = {name: name for name in ("year", "month", "week", "day", "hour", "minute", "second")}
_INTERVALS |= {f"{name}s": name for name in _INTERVALS}
_DOY = {name: time_rules.extracted("doy") for name in ("doy", "dayofyear", "day_of_year")}
_IF = {"IF": number_rules.choice}
_TRUNC = {"TRUNC": number_rules.truncated(1, 2)}
_ROUND = {"ROUND": number_rules.ROUND}

DUCKDB = Vocabulary(
    "DuckDB",
    Lexicon(operators=("//",), types=(("DATETIME", "TIMESTAMP"),)),
    _EVERYWHERE | _LOGS | number_rules.LOG_IS_LOG10 | number_rules.CEIL | _ROUND | number_rules.SAMPLE
    | number_rules.IGNORING_NULL | number_rules.IFNULL
    | _IF | _PARTS | time_rules.SECOND | text_rules.LETTERS | text_rules.CHARACTERS | text_rules.LENGTH
    | text_rules.LEN
    | text_rules.SUBSTR | text_rules.LEFT | text_rules.TRIM
    | {
        "TRUNC": number_rules.truncated(1, 2),
        "MOD": number_rules.remainder,
        "COUNT_IF": number_rules.counted_if,
        "COUNTIF": number_rules.counted_if,
        "DATE_TRUNC": time_rules.truncation(_WEEKS),
        "DATE_DIFF": time_rules.difference(0, 2, 1),
        "DATEDIFF": time_rules.difference(0, 2, 1),
        "DAYOFWEEK": time_rules.part_of("dow"),
        "ISODOW": time_rules.part_of("isodow"),
        "DAYOFYEAR": time_rules.part_of("doy"),
        "WEEKOFYEAR": time_rules.part_of("week"),
        "WEEK": time_rules.part_of("week"),
        "DATE_PART": time_rules.date_part(
            _SECONDS | _DOY | time_rules.ISO_WEEK
            | {name: time_rules.extracted(name) for name in ("dow", "isodow", "isoyear")}
        ),
    },
    parts=_SECONDS | _DOY | time_rules.ISO_WEEK
    | {name: time_rules.extracted(name) for name in ("dow", "isodow", "isoyear")},
    units=_INTERVALS,
    whole_division="of whole numbers",
    simple_letters=True,
    quotients_are_floats=True,
    remainder="same",
    to_whole="rounded",
    nulls="last",
    qualify=True,
)  # fmt: skip

SQLITE = Vocabulary(
    "SQLite",
    Lexicon(names='"`['),
    _EVERYWHERE | _LOGS | number_rules.LOG_IS_LOG10 | number_rules.CEIL | text_rules.LETTERS
    | text_rules.LENGTH | text_rules.SUBSTR | text_rules.TRIM
    | number_rules.IFNULL
    | {
        "IIF": number_rules.choice,
        "IF": number_rules.choice,
        "ROUND": number_rules.ROUND_UNSIGNED,
        "TRUNC": number_rules.truncated(1),
        "MIN": number_rules.MIN_OR_LEAST,
        "MAX": number_rules.MAX_OR_GREATEST,
    },
    parts={},
    division="whole",
    type_by_function=True,
    remainder="whole",
    to_whole="cut",
    to_decimal=False,
    to_date=False,
    to_truth=False,
    moved_by_days=False,
    timestamps=False,
    like="any ASCII case",
    ascii_letters=True,
    nulls="small",
    rollup=False,
)  # fmt: skip

MYSQL = Vocabulary(
    "MySQL",
    Lexicon(
        names="`", texts="'\"", backslash=True, hash_remark=True, blank_after_dashes=True, operators=("DIV",),
        types=(("SIGNED", "BIGINT"),),
    ),
    _EVERYWHERE | _LOGS | number_rules.CEIL | _ROUND | number_rules.POPULATION | number_rules.STRICT
    | number_rules.IFNULL
    | _IF | _PARTS | time_rules.SECOND | text_rules.CHARACTERS | text_rules.LETTERS | text_rules.SUBSTR
    | text_rules.LEFT | text_rules.TRIM | text_rules.CONCAT
    | {
        "STD": number_rules.POPULATION["STDDEV"],
        "TRUNCATE": number_rules.truncated(2),
        "MOD": number_rules.remainder,
        "ISNULL": number_rules.is_null,
        "DATE": time_rules.day,
        "DAYOFMONTH": time_rules.part_of("day"),
        "DAYOFYEAR": time_rules.part_of("doy"),
        "DAYOFWEEK": time_rules.part_of("dow", time_rules.SUNDAY_IS_ONE),
        "WEEKDAY": time_rules.part_of("isodow", time_rules.MONDAY_IS_ZERO),
        "WEEKOFYEAR": time_rules.part_of("week"),
        "DATEDIFF": time_rules.days_between,
        "DATE_ADD": time_rules.later_by(1),
        "DATE_SUB": time_rules.later_by(-1),
    },
    parts=_SECONDS,
    units=_INTERVALS,
    remainder="same",
    to_whole="rounded",
    to_truth=False,
    moved_by_days=False,
    like_escape="\\",
    concatenation=False,
    collated=True,
    nulls="small",
    instead={
        "LENGTH": "Write CHAR_LENGTH(x), which counts characters, not bytes.",
        "DATETIME": "Leave the cast out: it rounds to whole seconds there.",
    },
    full_joins=False,
    rollup=False,
    with_rollup=True,
)  # fmt: skip

BIGQUERY = Vocabulary(
    "BigQuery",
    Lexicon(
        names="`", texts="'\"", backslash=True, doubled=False, hash_remark=True, private=True,
        types=(("INT64", "BIGINT"), ("STRING", "TEXT"), ("DATETIME", "TIMESTAMP"), ("FLOAT64", "DOUBLE PRECISION")),
    ),
    _EVERYWHERE | _LOGS | number_rules.CEIL | _ROUND | _TRUNC | number_rules.SAMPLE | number_rules.STRICT
    | number_rules.IFNULL
    | _IF | text_rules.LETTERS | text_rules.CHARACTERS | text_rules.LENGTH | text_rules.SUBSTR | text_rules.LEFT
    | text_rules.CONCAT
    | bounded_rules.RULES
    | {
        "MOD": number_rules.remainder,
        "COUNTIF": number_rules.counted_if,
        "DATE": time_rules.day,
        "DATE_TRUNC": time_rules.truncation(_LENGTHS | {"isoweek": "week", "week(monday)": "week"}, unit_first=False),
        "TIMESTAMP_TRUNC": time_rules.truncation(
            _LENGTHS | {"isoweek": "week", "week(monday)": "week"}, unit_first=False
        ),
        "DATE_DIFF": time_rules.difference(2, 0, 1),
        "DATE_ADD": time_rules.later_by(1),
        "DATE_SUB": time_rules.later_by(-1),
    },
    parts=_SECONDS | _DOY
    | {
        "dayofweek": time_rules.SUNDAY_IS_ONE,
        "isoweek": time_rules.extracted("week"),
        "isoyear": time_rules.extracted("isoyear"),
    },
    units=_INTERVALS,
    to_whole="rounded",
    like_escape="\\",
    nulls="small",
    qualify=True,
)  # fmt: skip

SNOWFLAKE = Vocabulary(
    "Snowflake",
    Lexicon(
        backslash=True, top=True, types=(("STRING", "TEXT"), ("NUMBER", "DECIMAL"), ("DATETIME", "TIMESTAMP"))
    ),
    _EVERYWHERE | number_rules.LN | number_rules.POW | number_rules.CEIL | _ROUND | _TRUNC
    | number_rules.SAMPLE | number_rules.STRICT | number_rules.IFNULL
    | number_rules.NVL | number_rules.BUCKETS | _PARTS | time_rules.SECOND | text_rules.LETTERS | text_rules.LENGTH
    | text_rules.LEN | text_rules.SUBSTR | text_rules.LEFT | text_rules.TRIM | text_rules.CONCAT
    | {
        "IFF": number_rules.choice,
        "NVL2": number_rules.choice_by_null,
        "MOD": number_rules.remainder,
        "COUNT_IF": number_rules.counted_if,
        "DATE_TRUNC": time_rules.truncation(_LENGTHS),
        "DATEDIFF": time_rules.difference(0, 2, 1),
        "DATEADD": time_rules.later_by_units(_INTERVALS),
        "DAYOFWEEKISO": time_rules.part_of("isodow"),
        "DAYOFYEAR": time_rules.part_of("doy"),
        "WEEKISO": time_rules.part_of("week"),
        "YEAROFWEEKISO": time_rules.part_of("isoyear"),
    },
    parts=_SECONDS | _DOY
    | {
        "dayofweekiso": time_rules.extracted("isodow"),
        "weekiso": time_rules.extracted("week"),
        "yearofweekiso": time_rules.extracted("isoyear"),
    },
    units=_INTERVALS,
    remainder="same",
    to_whole="rounded",
    qualify=True,
    whole_frames=True,
)  # fmt: skip

TSQL = Vocabulary(
    "SQL Server",
    Lexicon(names='"[', top=True, types=(("DATETIME2", "TIMESTAMP"),)),
    _EVERYWHERE | number_rules.IGNORING_NULL | _PARTS | text_rules.LETTERS | text_rules.TRIM
    | {
        "ROUND": number_rules.ROUND_TSQL,
        "POWER": number_rules.power_of_answers,
        "AVG": number_rules.exact_average,
        "VAR": number_rules.SAMPLE["VARIANCE"],
        "VARP": number_rules.POPULATION["VARIANCE"],
        "STDEV": number_rules.SAMPLE["STDDEV"],
        "STDEVP": number_rules.POPULATION["STDDEV"],
        "COUNT_BIG": number_rules.counted,
        "IIF": number_rules.choice,
        "ISNULL": number_rules.null_or_number,
        "DATEPART": time_rules.date_part(
            _SECONDS | _DOY | {"iso_week": time_rules.extracted("week"), "isowk": time_rules.extracted("week")}
        ),
        "DATETRUNC": time_rules.truncation(_LENGTHS | {"iso_week": "week"}),
        "DATEDIFF": time_rules.difference(0, 2, 1),
        "DATEADD": time_rules.later_by_units(_INTERVALS),
    },
    parts={},
    division="whole",
    type_by_function=True,
    remainder="same",
    to_whole="cut",
    to_moment=False,
    to_truth=False,
    concatenation=False,
    collated=True,
    brackets_in_like=True,
    nulls="small",
    equals_is_alias=True,
    instead={
        "DATETIME": "Write DATETIME2: DATETIME rounds to 1/300 of a second.",
        "EXTRACT": "Write DATEPART(month, x).",
    },
    with_rollup=True,
)  # fmt: skip
