"""The dialects that are translated, by name. Those that share facts are written as changes of one another."""

from __future__ import annotations

from dataclasses import replace

from dither.sql.text.dialects import number_rules, text_rules, time_rules
from dither.sql.text.dialects.lexicon import Lexicon
from dither.sql.text.dialects.vocabulary import (
    BIGQUERY,
    DUCKDB,
    MYSQL,
    SNOWFLAKE,
    SQLITE,
    TSQL,
    Vocabulary,
)

_DOY = {name: time_rules.extracted("doy") for name in ("doy", "dayofyear", "day_of_year")}
_INTERVALS = {name: name for name in ("year", "month", "week", "day", "hour", "minute", "second")}
_INTERVALS |= {f"{name}s": name for name in _INTERVALS}
_NUMBERS = number_rules.COMMON | number_rules.POWERS | number_rules.CEIL | {"ROUND": number_rules.ROUND}
_LOGS = number_rules.LN | number_rules.LOG10 | number_rules.POW
_WEEKS = time_rules.LENGTHS | time_rules.MONDAY_WEEKS

TRINO = Vocabulary(
    "Trino",
    Lexicon(),
    _NUMBERS | _LOGS | number_rules.SAMPLE | number_rules.STRICT | number_rules.BUCKETS
    | time_rules.FUNCTIONS_OF_PARTS
    | time_rules.SECOND | text_rules.LETTERS | text_rules.LENGTH | text_rules.SUBSTR | text_rules.CONCAT
    | {
        "IF": number_rules.choice,
        "MOD": number_rules.remainder,
        "TRUNCATE": number_rules.truncated(1, 2),
        "COUNT_IF": number_rules.counted_if,
        "DATE": time_rules.day,
        "DATE_TRUNC": time_rules.truncation(_WEEKS),
        "DAY_OF_WEEK": time_rules.part_of("isodow"),
        "DOW": time_rules.part_of("isodow"),
        "DAY_OF_YEAR": time_rules.part_of("doy"),
        "WEEK": time_rules.part_of("week"),
        "WEEK_OF_YEAR": time_rules.part_of("week"),
    },
    parts=time_rules.PLAIN | time_rules.WHOLE_SECONDS | _DOY | time_rules.ISO_WEEK
    | {name: time_rules.extracted("isodow") for name in ("dow", "day_of_week")}
    | {name: time_rules.extracted("isoyear") for name in ("yow", "year_of_week")},
    units=_INTERVALS,
    division="whole",
    type_by_function=True,
    decimal_division=False,
    remainder="same",
    to_whole="rounded",
    nulls="last",
)  # fmt: skip

SPARK = Vocabulary(
    "Spark",
    Lexicon(
        names="`", texts="'\"", backslash=True, doubled=False, types=(("STRING", "TEXT"), ("LONG", "BIGINT"))
    ),
    _NUMBERS | _LOGS | number_rules.SAMPLE | number_rules.IGNORING_NULL | number_rules.IFNULL | number_rules.NVL
    | number_rules.BUCKETS | time_rules.FUNCTIONS_OF_PARTS | time_rules.SECOND | text_rules.LETTERS
    | text_rules.CHARACTERS | text_rules.LENGTH | text_rules.SUBSTR | text_rules.LEFT | text_rules.TRIM
    | text_rules.CONCAT
    | {
        "IF": number_rules.choice,
        "NVL2": number_rules.choice_by_null,
        "ISNULL": number_rules.is_null,
        "MOD": number_rules.remainder,
        "STD": number_rules.SAMPLE["STDDEV"],
        "COUNT_IF": number_rules.counted_if,
        "DATE_TRUNC": time_rules.truncation(_WEEKS),
        "DATEDIFF": time_rules.days_between,
        "DATE_ADD": time_rules.later_by_days(1),
        "DATE_SUB": time_rules.later_by_days(-1),
        "DAYOFMONTH": time_rules.part_of("day"),
        "DAYOFYEAR": time_rules.part_of("doy"),
        "DAYOFWEEK": time_rules.part_of("dow", time_rules.SUNDAY_IS_ONE),
        "WEEKDAY": time_rules.part_of("isodow", time_rules.MONDAY_IS_ZERO),
        "WEEKOFYEAR": time_rules.part_of("week"),
    },
    parts=time_rules.PLAIN | _DOY | time_rules.ISO_WEEK
    | dict.fromkeys(("dow", "dayofweek"), time_rules.SUNDAY_IS_ONE)
    | {name: time_rules.extracted("isodow") for name in ("dow_iso", "dayofweek_iso")}
    | {"yearofweek": time_rules.extracted("isoyear")},
    units=_INTERVALS,
    remainder="same",
    to_whole="cut",
    like_escape="\\",
    nulls="small",
    with_rollup=True,
)  # fmt: skip

_NOT_IN_HIVE = ("LEFT", "COUNT_IF", "IFNULL", "NVL2", "STD", "WEEKDAY", "DATE_ADD", "DATE_SUB")
HIVE = replace(
    SPARK,
    name="Hive",
    functions={name: rule for name, rule in SPARK.functions.items() if name not in _NOT_IN_HIVE}
    | number_rules.POPULATION
    | number_rules.STRICT,
    parts=time_rules.PLAIN,
)

REDSHIFT = Vocabulary(
    "Redshift",
    Lexicon(backslash=True, top=True),
    _NUMBERS | number_rules.LN | number_rules.LOG_IS_LOG10 | number_rules.POW | number_rules.SAMPLE
    | number_rules.IGNORING_NULL | number_rules.NVL | text_rules.LETTERS
    | text_rules.CHARACTERS | text_rules.LENGTH | text_rules.LEN | text_rules.SUBSTR | text_rules.LEFT
    | text_rules.TRIM
    | text_rules.CONCAT
    | {
        "AVG": number_rules.exact_average,
        "MOD": number_rules.remainder,
        "NVL2": number_rules.choice_by_null,
        "TRUNC": number_rules.truncated(1, 2),
        "DATE_TRUNC": time_rules.truncation(_WEEKS),
        "DATEDIFF": time_rules.difference(0, 2, 1),
    },
    parts=time_rules.PLAIN | _DOY | {"dow": time_rules.extracted("dow")},
    units={name: unit for name, unit in _INTERVALS.items() if unit != "month"},
    division="whole",
    type_by_function=True,
    remainder="same",
    like_escape="\\",
    collated=True,
    qualify=True,
    whole_frames=True,
)  # fmt: skip

CLICKHOUSE = Vocabulary(
    "ClickHouse",
    Lexicon(names='"`', backslash=True),
    number_rules.COMMON | number_rules.POWERS | number_rules.CEIL | text_rules.CHARACTERS | text_rules.LETTERS
    | number_rules.IFNULL
    | {
        "IF": number_rules.choice,
        "ISNULL": number_rules.is_null,
        "COUNTIF": number_rules.counted_if,
        "LENGTHUTF8": text_rules.LENGTH["LENGTH"],
        "DATE_TRUNC": time_rules.truncation(_WEEKS),
        "TOYEAR": time_rules.part_of("year"),
        "TOQUARTER": time_rules.part_of("quarter"),
        "TOMONTH": time_rules.part_of("month"),
        "TODAYOFMONTH": time_rules.part_of("day"),
        "TODAYOFYEAR": time_rules.part_of("doy"),
        "TOHOUR": time_rules.part_of("hour"),
        "TOMINUTE": time_rules.part_of("minute"),
        "TOISOWEEK": time_rules.part_of("week"),
        "TOISOYEAR": time_rules.part_of("isoyear"),
        "TODATE": time_rules.day,
        "TOSTARTOFYEAR": time_rules.start_of("year"),
        "TOSTARTOFQUARTER": time_rules.start_of("quarter"),
        "TOSTARTOFMONTH": time_rules.start_of("month"),
        "TOMONDAY": time_rules.start_of("week"),
    },
    units=_INTERVALS,
    quotients_are_floats=True,
    to_decimal=False,
    to_moment=False,
    ascii_letters=True,
    like_escape="\\",
    nulls="last",
    nulls_after_outer_joins=False,
    instead={"LENGTH": "Write lengthUTF8(x), which counts characters, not bytes."},
    over_answers=False,
)  # fmt: skip

ORACLE = Vocabulary(
    "Oracle",
    Lexicon(types=(("NUMBER", "DECIMAL"),)),
    _NUMBERS | number_rules.LN | number_rules.STRICT
    | number_rules.NVL | number_rules.BUCKETS
    | text_rules.LETTERS | text_rules.LENGTH
    | {
        "MOD": number_rules.remainder_by_number,
        "NVL2": number_rules.choice_by_null,
        "TRUNC": number_rules.truncated(1, 2),
    },
    units=_INTERVALS,
    to_whole="rounded",
    to_date=False,
    dates_by_setting=True,
    concatenation=False,
    empty_is_null=True,
)  # fmt: skip

VOCABULARIES: dict[str, Vocabulary] = {
    "athena": replace(TRINO, name="Athena"),
    "bigquery": BIGQUERY,
    "clickhouse": CLICKHOUSE,
    "databricks": replace(SPARK, name="Databricks", qualify=True),
    "duckdb": DUCKDB,
    "hive": HIVE,
    "mysql": MYSQL,
    "oracle": ORACLE,
    "presto": replace(TRINO, name="Presto"),
    "redshift": REDSHIFT,
    "snowflake": SNOWFLAKE,
    "spark": SPARK,
    "sqlite": SQLITE,
    "trino": TRINO,
    "tsql": TSQL,
}
