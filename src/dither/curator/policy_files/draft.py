"""A policy file drafted from the names and types of columns. No value is read, so no value can show in it.

Bounds, labels, owners and budgets are for the curator to fill in: a draft is refused until that is done.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dither.curator.policy_files.places import FILL_IN
from dither.engines.duckdb.sources.sources import likely_delimiter, schema_of

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
_INTEGERS = [f"{sign}{kind}" for sign in ("", "U") for kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")]
_INSTANTS = ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"]
_TEXTS = ["VARCHAR", "BLOB", "UUID", "ENUM", "JSON"]
_BLANK = json.dumps(FILL_IN)
_KINDS = "int, fixed, bool, date, timestamp, category or text"
_EXAMPLES = (
    '#   { kind = "int", lower = 0, upper = 105 }',
    '#   { kind = "fixed", lower = 0, upper = 500, decimals = 2 }',
    '#   { kind = "bool" }',
    '#   { kind = "date", lower = "2023-01-01", upper = "2024-12-31" }',
    '#   { kind = "timestamp", lower = "2023-01-01T00:00:00", upper = "2024-12-31T23:59:59" }',
    '#   { kind = "category", labels = ["north", "south"] }',
    '#   { kind = "text" }',
)


def draft(
    sources: Sequence[Path], file: Path, *, people: str = "people", budget: Mapping[str, str] | None = None
) -> str:
    """TOML for tables read from these files; paths are relative to `file`, where the draft will stand."""
    lines = [
        "# A draft from the names and types of columns; no value was read.",
        f"# Replace every {_BLANK}, and delete the columns that nobody should ask about. A table that tells about",
        "# nobody can be public: name it [public.NAME], with source, key and columns alone. Kinds of columns:",
        *_EXAMPLES,
        "",
        f"[people.{_quoted(people)}]",
        *_budget(budget),
    ]
    taken: set[str] = set()
    for source in sources:
        lines += ["", *_table(source, _table_name(source, taken), file, people)]
    return "\n".join(lines) + "\n"


def _budget(budget: Mapping[str, str] | None) -> list[str]:
    if budget is not None:
        return [
            f"{name} = {'true' if value == 'true' else _quoted(value, always=True)}" for name, value in budget.items()
        ]
    return [
        f"epsilon = {_BLANK}  # the budget of everything that will ever be asked about them, such as 4",
        f'delta = {_BLANK}  # far below one over their number, such as "1e-6"; or pure = true instead',
    ]


def _table(source: Path, name: str, file: Path, people: str) -> Iterator[str]:
    schema = schema_of(source)
    delimiter = likely_delimiter(list(schema)) if None in schema.values() else None
    if delimiter is not None:
        schema = schema_of(source, delimiter)
    yield f"[tables.{name}]"
    yield f"source = {_quoted(os.path.relpath(source, file.parent), always=True)}"
    if delimiter is not None:
        yield f"delimiter = {_quoted(delimiter, always=True)}"
    yield f"people = {_quoted(people, always=True)}"
    yield f'owner = {_BLANK}  # whose row it is: a column, or "column -> table.key"; or instead each_row = true'
    yield f"max_rows_per_owner = {_BLANK}  # more rows keep more data, fewer rows need less noise"
    yield "# max_rows_per_owner_in = { column = 1 }  # if more rows of one owner with one value there need not count"
    yield "# max_values_per_owner = { column = 1 }  # if rows of one owner with further values there need not count"
    yield "# max_rows = 1000000  # more than it will ever have; questions that could take too much are refused by it"
    yield '# key = ["column"]  # if no two rows of one owner have the same values there'
    yield ""
    yield f"[tables.{name}.columns]"
    taken = {column.lower() for column in schema if _NAME.fullmatch(column)}
    for column, kind in schema.items():
        if _NAME.fullmatch(column):
            yield _column(column, kind)
        else:
            renamed = _simple_name(column, "c", taken)
            line = _column(renamed, kind)
            yield line.replace(" }", f", source = {_quoted(column, always=True)} }}", 1)


def _column(name: str, kind: str | None) -> str:
    if kind is None:
        return f"{name} = {{ kind = {_BLANK} }}  # {_KINDS}, and what that kind needs"
    family, _, arguments = kind.partition("(")
    bounds = f"lower = {_BLANK}, upper = {_BLANK}"
    if kind.endswith("]"):
        family = kind  # a list, whatever is in it
    if family in _INTEGERS:
        return f'{name} = {{ kind = "int", {bounds} }}'
    if family in ("FLOAT", "DOUBLE"):
        return f'{name} = {{ kind = "fixed", {bounds}, decimals = {_BLANK} }}'
    if family == "DECIMAL":
        decimals = int(arguments.rstrip(")").partition(",")[2] or 0)
        return f'{name} = {{ kind = "fixed", {bounds}, decimals = {decimals if decimals <= 18 else _BLANK} }}'
    if family == "BOOLEAN":
        return f'{name} = {{ kind = "bool" }}'
    if family == "DATE":
        return f'{name} = {{ kind = "date", {bounds} }}  # such as "2024-12-31"'
    if family in _INSTANTS:
        return f'{name} = {{ kind = "timestamp", {bounds} }}  # such as "2024-12-31T23:59:59"'
    if family in _TEXTS:
        return f'{name} = {{ kind = "text" }}  # or kind = "category" with labels = ["...", "..."]: groups show for all'
    return f"# {name}: {json.dumps(kind)} cannot be declared; cast it in the source"


def _table_name(source: Path, taken: set[str]) -> str:
    return _simple_name(source.name.partition(".")[0], "t", taken)


def _simple_name(text: str, start: str, taken: set[str]) -> str:
    """Letters, digits and _, after a letter; different from those taken."""
    stem = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:50]
    name = stem if _NAME.fullmatch(stem) else f"{start}_{stem}".rstrip("_")
    wanted, number = name, 2
    while name.lower() in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name.lower())
    return name


def _quoted(text: str, *, always: bool = False) -> str:
    """As TOML writes it: bare where a key can be."""
    if not always and re.fullmatch(r"[A-Za-z0-9_-]+", text):
        return text
    written = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in written)
