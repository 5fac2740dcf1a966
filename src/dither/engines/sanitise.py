"""Every record becomes storable by itself: one defined result for any value of any source type, never an error.

Out of range is clamped. NaN, infinities, what does not cast, undeclared labels and unusable text become NULL, or the
declared default in a column that is not nullable. Numbers are read by their decimal form (a double by its shortest one,
as it is printed) and rounded half away from zero to the declared decimals.

The result for one record depends on that record and on declarations alone: types come from the source's schema, never
from looking at other values.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from dither.columns import Bool, Category, Coded, Column, Date, Text, Timestamp
from dither.errors import PolicyError
from dither.sql.physical import physical_type

_INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
}  # fmt: skip
_DAYS = {"DATE"}
_TIMES = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_ZONED = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"}
_INSTANTS = _DAYS | _TIMES | _ZONED
_TEXT_LIKE = {"VARCHAR", "UUID", "BLOB", "ENUM", "NULL", "BIGNUM", "UHUGEINT"}  # read through their text
_NUMBERS = _INTEGERS | {"FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN"}

# Beyond this magnitude no declared bound can lie, whatever the decimals; inside it scaling cannot overflow a double.
_FAR = "1e20"
# Products below this are known to 1e-3 and better, so only what lies closer to a tie needs its decimal digits.
_SURE = "1e12"


@dataclass(frozen=True)
class Reading:
    """How one declared column is read: SQL for the value (in [low - 1, high + 1] when coded, so that a value out of
    range is still seen to be), for whether the record had any, for what is stored, and for what was changed."""

    name: str
    column: Column
    value: str

    def stored(self, value: str) -> str:
        """SQL of what the snapshot holds, given the name of the computed value."""
        kept = value
        if isinstance(self.column, Coded):
            low, high = self.column.low, self.column.high
            kept = f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
        default = self.column.stored_default
        if default is not None:
            kept = f"COALESCE({kept}, {default if isinstance(default, int) else quoted(default, mark=chr(39))})"
        return f"CAST({kept} AS {physical_type(self.column)})"

    def change(self, value: str, present: str) -> str:
        """SQL of 1 for clamped, 2 for replaced, 0 for kept as it was."""
        clamped = ""
        if isinstance(self.column, Coded):
            clamped = f"WHEN {value} < {self.column.low} OR {value} > {self.column.high} THEN 1 "
        lost = f"{value} IS NULL" + (f" AND {present}" if self.column.nullable else "")
        return f"CAST(CASE {clamped}WHEN {lost} THEN 2 ELSE 0 END AS TINYINT)"


def read_column(name: str, column: Column, raw: str, source_type: str, labels: str) -> Reading:
    """The reading of a declared column from SQL `raw` of the source's type. `labels` names the ENUM of a Category."""
    kind = family(source_type)
    if kind not in _accepted(column):
        raise PolicyError(
            f"column {name!r}: the source has type {source_type}, which cannot be read as {type(column).__name__}; "
            "change the declaration, or cast the column in the source."
        )
    if isinstance(column, Text):
        text = _text(raw, kind)
        return Reading(
            name,
            column,
            f"CASE WHEN length({text}) <= {column.max_length} AND NOT contains({text}, chr(0)) THEN {text} END",
        )
    if not isinstance(column, Coded):
        raise PolicyError(f"column {name!r}: no engine can store {type(column).__name__}.")
    return Reading(name, column, _coded(column, raw, kind, labels))


def read_owner(raw: str, source_type: str) -> tuple[str, str]:
    """SQL of the owner's identity and its stored type. NULL, blank text, NaN and infinities are no owner."""
    kind = family(source_type)
    if kind in _INTEGERS - {"HUGEINT", "UBIGINT"}:
        return f"CAST({raw} AS BIGINT)", "BIGINT"
    if kind in {"FLOAT", "DOUBLE"}:
        # A whole number that passed through floats, as missing values make it do, is still the same owner.
        whole = f"CAST(TRY_CAST({raw} AS HUGEINT) AS VARCHAR)"
        return (
            f"CASE WHEN NOT isfinite({raw}) THEN NULL WHEN trunc({raw}) = {raw} AND abs({raw}) < 9007199254740992 "
            f"THEN {whole} ELSE CAST({raw} AS VARCHAR) END"
        ), "VARCHAR"
    if kind in _TEXT_LIKE | _INTEGERS | _INSTANTS | {"DECIMAL"}:
        text = _text(raw, kind)
        return f"CASE WHEN trim({text}) <> '' THEN {text} END", "VARCHAR"
    raise PolicyError(f"the owner column has type {source_type}, which cannot identify anybody; use numbers or text.")


def family(source_type: str) -> str:
    """The type's name without its arguments: DECIMAL(10,2) is DECIMAL; nested types are named by their ending."""
    name = source_type.strip('"')
    return name if name.endswith("]") else name.split("(", 1)[0]


def quoted(text: str, *, mark: str = '"') -> str:
    """An SQL identifier, or with a single quotation mark a literal."""
    return mark + text.replace(mark, mark * 2) + mark


def _accepted(column: Column) -> set[str]:
    if isinstance(column, (Date, Timestamp)):
        return _INSTANTS | _TEXT_LIKE
    if isinstance(column, (Text, Category)):
        return _NUMBERS | _INSTANTS | _TEXT_LIKE
    return _NUMBERS | _TEXT_LIKE


def _text(raw: str, kind: str) -> str:
    if kind == "VARCHAR":
        return raw
    if kind == "BLOB":
        return f"TRY(decode({raw}))"  # NULL unless it is UTF-8
    return f"CAST({raw} AS VARCHAR)"


def _coded(column: Coded, raw: str, kind: str, labels: str) -> str:
    if isinstance(column, Category):
        return f"CAST(enum_code(TRY_CAST({_text(raw, kind)} AS {labels})) AS BIGINT)"
    if isinstance(column, Bool):
        if kind in _TEXT_LIKE:
            raw = f"TRY_CAST({_text(raw, kind)} AS BOOLEAN)"
        elif kind != "BOOLEAN":
            return f"CASE WHEN {raw} = 0 THEN 0 WHEN {raw} = 1 THEN 1 END"
        return f"CAST({raw} AS BIGINT)"
    if isinstance(column, Date):
        day = f"TRY_CAST({_text(raw, kind) if kind in _TEXT_LIKE else raw} AS DATE)"
        since = f"({day} - DATE '1970-01-01')"
        return f"CASE WHEN isfinite({day}) THEN {_within(column, since)} END"
    if isinstance(column, Timestamp):
        if kind in _TEXT_LIKE:
            instant = f"TRY_CAST({_text(raw, kind)} AS TIMESTAMP WITH TIME ZONE)"
        else:
            instant = f"TRY_CAST({raw} AS {'TIMESTAMP WITH TIME ZONE' if kind in _ZONED else 'TIMESTAMP'})"
        return _within(column, f"epoch_us({instant})")
    return _number(column, raw, kind)


def _number(column: Coded, raw: str, kind: str) -> str:
    if kind == "BOOLEAN":
        raw, kind = f"CAST({raw} AS BIGINT)", "BIGINT"
    if kind in _INTEGERS:
        far = 2**63
        held = f"CASE WHEN {raw} > {far} THEN {far} WHEN {raw} < -{far} THEN -{far} ELSE CAST({raw} AS HUGEINT) END"
        return _within(column, f"({held}) * {10**column.decimals}::HUGEINT" if column.decimals else held)
    if kind == "DOUBLE":
        return _from_double(column, raw)
    if kind == "FLOAT":
        return _from_double(column, f"TRY_CAST(CAST({raw} AS VARCHAR) AS DOUBLE)")
    text = raw if kind == "DECIMAL" else _text(raw, kind)
    exactly = _from_decimal(column, f"TRY_CAST({text} AS DECIMAL(38,{column.decimals}))")
    return f"COALESCE({exactly}, {_from_double(column, f'TRY_CAST({text} AS DOUBLE)')})"


def _from_double(column: Coded, raw: str) -> str:
    """Doubles whose product with 10**decimals is clear of a tie are rounded as they are; the others by their digits."""
    low, high = column.low, column.high
    product = f"(LEAST(GREATEST({raw}, -{_FAR}), {_FAR}) * 1e{column.decimals})"
    digits = _from_decimal(column, f"TRY_CAST(CAST({raw} AS VARCHAR) AS DECIMAL(38,{column.decimals}))")
    return (
        f"CASE WHEN NOT isfinite({raw}) THEN NULL "
        f"WHEN abs({product}) < {_SURE} AND abs({product} - round({product})) < 0.499 "
        f"THEN {_within(column, f'TRY_CAST(round({product}) AS BIGINT)')} "
        f"ELSE COALESCE({digits}, CASE WHEN {raw} > 0 THEN {high + 1} WHEN {raw} < 0 THEN {low - 1} END) END"
    )


def _from_decimal(column: Coded, raw: str) -> str:
    """Clamped before it is scaled, so that 19 digits are enough and the product fits DECIMAL(38)."""
    low, high, scale = column.low, column.high, column.decimals
    bounds = [f"CAST('{Decimal(bound).scaleb(-scale):f}' AS DECIMAL(38,{scale}))" for bound in (low, high)]
    scaled = f"TRY_CAST({raw} AS DECIMAL(19,{scale})) * CAST({10**scale} AS DECIMAL({scale + 1},0))"
    return (
        f"CASE WHEN {raw} < {bounds[0]} THEN {low - 1} WHEN {raw} > {bounds[1]} THEN {high + 1} "
        f"ELSE TRY_CAST({scaled} AS BIGINT) END"
    )


def _within(column: Coded, raw: str) -> str:
    """Limited to one step beyond the bounds; NULL stays NULL, which LEAST and GREATEST would not keep."""
    low, high = column.low - 1, column.high + 1
    return f"CASE WHEN {raw} < {low} THEN {low} WHEN {raw} > {high} THEN {high} ELSE TRY_CAST({raw} AS BIGINT) END"
