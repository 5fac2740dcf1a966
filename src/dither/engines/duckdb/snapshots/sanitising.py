"""Every record becomes storable by itself: one defined result for any value of any source type, never an error.

Out of range is clamped. NaN, infinities, what does not cast, undeclared labels and unusable text become NULL, or the
declared default in a column that is not nullable. Numbers are read by their decimal form (a double by its shortest one,
as it is printed) and rounded half away from zero to the declared decimals.

The result for one record depends on that record and on declarations alone: types come from the source's schema, never
from looking at other values.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal

from dither.engines.duckdb.sources.instants import INSTANTS, days, microseconds, steps, text
from dither.errors import PolicyError
from dither.policy.columns import Bool, Category, Coded, Column, Date, Text, Timestamp
from dither.sql.lowering.duckdb_dialect import DUCKDB

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
_TEXT_LIKE = {"VARCHAR", "UUID", "NULL"}  # read through their text
_NUMBERS = _INTEGERS | {"FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN"}

_EXACT = {"FLOAT": 2**24, "DOUBLE": 2**53}  # below these every whole number is one of the type

_BLANK = r"[\s\pZ\p{Cc}\p{Cf}]+"  # spaces and invisible characters of every script

NOT_TEXT = "\ufdd0"  # stands for bytes that are not UTF-8; a code point that no text may use
LABELS = "labels_"  # prefix of the ENUM types that hold declared labels

# Beyond this magnitude no declared bound can lie, whatever the decimals; inside it scaling cannot overflow a double.
_FAR = "1e20"
# Products below this are known to 1e-3 and better, so only what lies closer to a tie needs its decimal digits.
_SURE = "1e12"


@dataclass(frozen=True)
class Reading:
    """How one declared column is read, in steps: each is SQL under a name that the later ones use, so that nothing is
    computed twice. The last one is the value: in [low - 1, high + 1] when coded, so that out of range is still seen."""

    name: str
    column: Column
    source: str
    steps: tuple[tuple[str, str], ...]

    @property
    def value(self) -> str:
        """The name of the last step."""
        return self.steps[-1][0]

    def stored(self) -> str:
        """SQL of what the snapshot holds."""
        kept = self.value
        if isinstance(self.column, Coded):
            low, high = self.column.low, self.column.high
            kept = f"CASE WHEN {kept} < {low} THEN {low} WHEN {kept} > {high} THEN {high} ELSE {kept} END"
        default = self.column.stored_default
        if default is not None:
            kept = f"COALESCE({kept}, {default if isinstance(default, int) else quoted(default, mark=chr(39))})"
        return f"CAST({kept} AS {DUCKDB.stored(self.column)})"

    def change(self) -> str:
        """SQL of 1 for clamped, 2 for replaced, 0 for kept as it was."""
        clamped = ""
        if isinstance(self.column, Coded):
            clamped = f"WHEN {self.value} < {self.column.low} OR {self.value} > {self.column.high} THEN 1 "
        lost = f"{self.value} IS NULL" + (f" AND {self.source} IS NOT NULL" if self.column.nullable else "")
        return f"CAST(CASE {clamped}WHEN {lost} THEN 2 ELSE 0 END AS TINYINT)"


def read_column(name: str, column: Column, source: str, source_type: str, position: int) -> Reading:
    """The reading of a declared column from the source's column (SQL) of this type.

    `position` makes the steps' names unique; a Category finds its labels in the ENUM type `labels_<position>`.
    """
    kind = family(source_type)
    if kind not in _accepted(column):
        raise PolicyError(
            f"column {name!r}: the source has type {source_type}, which cannot be read as {type(column).__name__}; "
            "change the declaration, or cast the column in the source."
        )
    raw, value = f'"_raw{position}"', f'"_value{position}"'
    if isinstance(column, (Text, Category)) or kind in _TEXT_LIKE:
        first, kind = (raw, _text(source, kind)), "VARCHAR"
    elif kind == "FLOAT":
        first, kind = (raw, f"TRY_CAST(CAST({source} AS VARCHAR) AS DOUBLE)"), "DOUBLE"
    elif kind == "BOOLEAN":
        first, kind = (raw, f"CAST({source} AS BIGINT)"), "BIGINT"
    else:
        first = (raw, source)
    if kind == "VARCHAR" and not isinstance(column, (Text, Category, Bool, Date, Timestamp)):  # a truth is a number
        first = (raw, f"CASE {first[1]} WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE {first[1]} END")
    if isinstance(column, Text):
        fits = f"length({raw}) <= {column.max_length} AND NOT contains({raw}, chr(0))"
        steps = [(value, f"CASE WHEN {fits} THEN {raw} END")]
    elif isinstance(column, Category):
        steps = [(value, f"CAST(enum_code(TRY_CAST({raw} AS {LABELS}{position})) AS BIGINT)")]
    elif isinstance(column, Bool):
        truth = f"CAST(TRY_CAST({raw} AS BOOLEAN) AS BIGINT)"
        steps = [(value, truth if kind == "VARCHAR" else f"CASE WHEN {raw} = 0 THEN 0 WHEN {raw} = 1 THEN 1 END")]
    elif isinstance(column, (Date, Timestamp)):
        steps = _instant(column, raw, kind, value)
    elif isinstance(column, Coded):
        steps = _number(column, raw, kind, value)
    else:
        raise PolicyError(f"column {name!r}: no engine can store {type(column).__name__}.")
    return Reading(name, column, source, (first, *steps))


def read_owner(raw: str, source_type: str) -> tuple[str, str]:
    """SQL of the owner's identity and the type that it has by its column's. NULL, blank text and NaN are no owner.

    One person must not be several owners by being written differently: 7, 7.0, "7", " 7" and 7.00 are one.
    """
    kind = family(source_type)
    if kind in _INTEGERS - {"UBIGINT"}:
        return f"CAST({raw} AS BIGINT)", "BIGINT"
    if kind in _EXACT:
        # Floats are whole numbers among which some are missing. Where they cannot tell two of those apart, or have
        # decimals, they identify nobody.
        return f"CASE WHEN {_whole(raw, kind)} THEN TRY_CAST({raw} AS BIGINT) END", "BIGINT"
    if kind in _TEXT_LIKE | _INTEGERS | INSTANTS | {"DECIMAL"}:
        return _identity(_text(raw, kind)), "VARCHAR"
    raise PolicyError(f"the owner column has type {source_type}, which cannot identify anybody; use numbers or text.")


def may_be_whole(source_type: str) -> bool:
    """Whether the values of this type are numbers, though the type holds more than whole ones of 64 bits."""
    return family(source_type) in {"UBIGINT", "DECIMAL"}


def whole_number(identity: str) -> str:
    """SQL of an owner as a whole number, where the identity of one (SQL, text) is written as one; else NULL."""
    return f"CASE WHEN regexp_full_match({identity}, '-?[0-9]+') THEN TRY_CAST({identity} AS BIGINT) END"


def _identity(text: str) -> str:
    """Text without the blanks around it, and a whole number without its decimals; nothing left is NULL."""
    trimmed = f"regexp_replace({text}, '^{_BLANK}|{_BLANK}$', '', 'g')"
    return f"NULLIF(regexp_replace({trimmed}, '^(-?[0-9]+)[.]0*$', '\\1'), '')"


def family(source_type: str) -> str:
    """The type's name without its arguments: DECIMAL(10,2) is DECIMAL; instants and nested types keep their ending."""
    name = source_type.strip('"')
    return name if name.endswith("]") else name.split("(", 1)[0]


def quoted(text: str, *, mark: str = '"') -> str:
    """An SQL identifier, or with a single quotation mark a literal."""
    return mark + text.replace(mark, mark * 2) + mark


def _whole(raw: str, kind: str) -> str:
    return f"trunc({raw}) = {raw} AND abs({raw}) < {_EXACT[kind]}"


def _accepted(column: Column) -> AbstractSet[str]:
    if isinstance(column, (Date, Timestamp)):
        return INSTANTS | _TEXT_LIKE
    if isinstance(column, (Text, Category)):
        return _NUMBERS | INSTANTS | _TEXT_LIKE
    return _NUMBERS | _TEXT_LIKE


def _text(raw: str, kind: str) -> str:
    """NULL unless it is UTF-8."""
    if kind in INSTANTS:
        return text(raw, kind)
    if kind in _EXACT:  # a whole number has no decimals, also where a missing value has made its column one of floats
        whole = f"CAST(TRY_CAST({raw} AS BIGINT) AS VARCHAR)"
        return f"CASE WHEN {_whole(raw, kind)} THEN {whole} ELSE CAST({raw} AS VARCHAR) END"
    if kind != "VARCHAR":
        return f"CAST({raw} AS VARCHAR)"
    return f"CASE WHEN NOT contains({raw}, chr({ord(NOT_TEXT)})) THEN {raw} END"


def _instant(column: Date | Timestamp, raw: str, kind: str, value: str) -> list[tuple[str, str]]:
    """Days or microseconds since 1970 in UTC; infinite dates and times are no values."""
    whole, since = value.replace("value", "whole"), value.replace("value", "since")
    if kind in INSTANTS:
        counted = days(whole, kind) if isinstance(column, Date) else microseconds(whole, kind)
        return [(whole, steps(raw, kind)), (since, counted), _within(column, since, value)]
    if isinstance(column, Date):
        day = (whole, f"TRY_CAST({raw} AS DATE)")
        return [
            day,
            (since, f"CASE WHEN isfinite({whole}) THEN {whole} - DATE '1970-01-01' END"),
            _within(column, since, value),
        ]
    return [(since, f"epoch_us(TRY_CAST({raw} AS TIMESTAMP WITH TIME ZONE))"), _within(column, since, value)]


def _number(column: Coded, raw: str, kind: str, value: str) -> list[tuple[str, str]]:
    if kind in _INTEGERS:
        if not column.decimals:
            return [_within(column, raw, value)]
        scaled = value.replace("value", "scaled")  # 64 bits times 18 decimals fit in 128
        product = f"CAST({raw} AS HUGEINT) * CAST({10**column.decimals} AS HUGEINT)"
        return [(scaled, product), _within(column, scaled, value)]
    return _decimal(column, raw, kind, value)


def _decimal(column: Coded, raw: str, kind: str, value: str) -> list[tuple[str, str]]:
    """Doubles, decimals and text. A product with 10**decimals that is clear of a tie is rounded as it is; any other by
    the digits of what was written."""
    low, high, scale = column.low, column.high, column.decimals
    double, product, nearest = (value.replace("value", step) for step in ("double", "product", "nearest"))
    written = f"CAST({raw} AS VARCHAR)" if kind == "DOUBLE" else raw
    digits = [
        _scaled(column, f"TRY_CAST({form} AS DECIMAL(38,{scale}))") for form in (written, f"CAST({double} AS VARCHAR)")
    ]
    beyond = f"CASE WHEN {double} > 0 THEN {high + 1} WHEN {double} < 0 THEN {low - 1} END"
    clear = f"abs({product}) < {_SURE} AND abs({product} - {nearest}) < 0.499"
    return [
        (double, raw if kind == "DOUBLE" else f"TRY_CAST({raw} AS DOUBLE)"),
        (product, f"CASE WHEN isfinite({double}) THEN LEAST(GREATEST({double}, -{_FAR}), {_FAR}) * 1e{scale} END"),
        (nearest, f"round({product})"),
        (
            value,
            f"CASE WHEN {product} IS NULL THEN NULL WHEN {clear} THEN {_limited(column, nearest)} "
            f"ELSE COALESCE({', '.join(digits)}, {beyond}) END",
        ),
    ]


def _scaled(column: Coded, raw: str) -> str:
    """A DECIMAL(38) in storage units: clamped first, so that 19 digits are enough and the product fits."""
    low, high, scale = column.low, column.high, column.decimals
    bounds = [f"CAST('{Decimal(bound).scaleb(-scale):f}' AS DECIMAL(38,{scale}))" for bound in (low, high)]
    product = f"TRY_CAST({raw} AS DECIMAL(19,{scale})) * CAST({10**scale} AS DECIMAL({scale + 1},0))"
    return (
        f"CASE WHEN {raw} < {bounds[0]} THEN {low - 1} WHEN {raw} > {bounds[1]} THEN {high + 1} "
        f"ELSE TRY_CAST({product} AS BIGINT) END"
    )


def _within(column: Coded, wide: str, value: str) -> tuple[str, str]:
    return value, _limited(column, wide)


def _limited(column: Coded, wide: str) -> str:
    """At most one step beyond the bounds; NULL stays NULL, which LEAST and GREATEST would not keep."""
    low, high = column.low - 1, column.high + 1
    return f"CASE WHEN {wide} < {low} THEN {low} WHEN {wide} > {high} THEN {high} ELSE TRY_CAST({wide} AS BIGINT) END"
