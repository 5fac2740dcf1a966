"""Functions of PostgreSQL's catalog, each as an expression that the worker knows; those not named here are refused.

Sizes, counts and times of tables are NULL whatever they are: they would tell about data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dither.escape import shortened
from dither.server.wire.catalog.identities import BY_NAME, CLASSES, PROCEDURES, WORDS
from dither.server.wire.sqlstates import WireError

Arguments = Sequence[exp.Expression]
_PLACES = re.compile(r"%([sIL%])")  # of format, in its plain form
DESCRIPTIONS = "pg_catalog__pg_description"  # as the worker calls it
VERSION = "PostgreSQL 16.0 (dither)"


@dataclass(frozen=True)
class Session:
    """What functions say of the connection."""

    user: str
    database: str
    settings: Mapping[str, str]
    numbers: Mapping[str, int]  # of tables, by name


def text(value: str) -> exp.Expression:
    return exp.cast(exp.Literal.string(value), "VARCHAR", dialect="duckdb")


def oid(value: int) -> exp.Expression:
    return exp.cast(exp.Literal.number(value), "UINTEGER", dialect="duckdb")


def nothing(kind: str = "VARCHAR") -> exp.Expression:
    return exp.cast(exp.null(), kind, dialect="duckdb")


def schemas(implicit: bool) -> exp.Expression:
    return exp.Array(expressions=[text(name) for name in (("pg_catalog",) if implicit else ()) + ("public",)])


def _choice(value: exp.Expression, cases: Mapping[int, str]) -> exp.Expression:
    """The text that stands for a number."""
    made = exp.Case(this=value.copy())
    for number, words in sorted(cases.items()):
        made = made.when(exp.Literal.number(number), exp.Literal.string(words))
    return made.else_(exp.null())


def format_type(arguments: Arguments) -> exp.Expression:
    """How SQL calls a type; a decimal's precision and scale are in its modifier."""
    base = _choice(arguments[0], WORDS)
    if len(arguments) < 2:
        return base
    packed, modifier = "CAST(? AS INTEGER)", arguments[1].sql("duckdb")
    value = packed.replace("?", modifier)
    suffix = f"'numeric(' || (({value} - 4) >> 16) || ',' || (({value} - 4) & 65535) || ')'"
    decimal = f"CAST({arguments[0].sql('duckdb')} AS BIGINT) = 1700 AND {value} > 4"
    found: exp.Expression = exp.maybe_parse(f"CASE WHEN {decimal} THEN {suffix} END", dialect="duckdb")
    return exp.Coalesce(this=found, expressions=[base])


def type_number(name: str) -> int | None:
    """The number of a type by any of its names."""
    plain = name.lower().removeprefix("pg_catalog.").strip('"').split("(")[0].strip()
    return BY_NAME.get(plain)


def relation_number(name: str, session: Session) -> int | None:
    """The number of a table, or of a relation of the catalog that refers to others."""
    plain = name.lower().replace('"', "")
    own = {known.lower(): number for known, number in session.numbers.items()}
    return own.get(plain.removeprefix("public.")) or CLASSES.get(plain.removeprefix("pg_catalog."))


def relation_name(value: exp.Expression, session: Session) -> exp.Expression:
    """The name of a table by its number, as a text."""
    known = {number: name for name, number in session.numbers.items()}
    if not known:
        return nothing()
    return _choice(value, known)


def procedure_name(value: exp.Expression) -> exp.Expression:
    """The name of a procedure by its number; that of none is a dash."""
    return exp.Coalesce(
        this=_choice(value, {number: name for name, number in PROCEDURES.items()}), expressions=[text("-")]
    )


def _description(relation: str) -> Callable[[Arguments, Session], exp.Expression]:
    """The comment on a table or a column."""

    def made(arguments: Arguments, session: Session) -> exp.Expression:
        object_, place = arguments[0].sql("duckdb"), "0"
        if relation == "column":
            place = arguments[1].sql("duckdb")
        where = f"objoid = {object_} AND objsubid = {place}"
        query = f"(SELECT any_value(description) FROM {DESCRIPTIONS} WHERE {where})"
        return exp.maybe_parse(query, dialect="duckdb")

    return made


def _constant(made: Callable[[], exp.Expression]) -> Callable[[Arguments, Session], exp.Expression]:
    return lambda arguments, session: made()


def _first(arguments: Arguments, session: Session) -> exp.Expression:
    return arguments[0]


def _setting(arguments: Arguments, session: Session) -> exp.Expression:
    stated = arguments[0].this if isinstance(arguments[0], exp.Cast) else arguments[0]
    name = stated.name.lower() if isinstance(stated, exp.Literal) else ""
    missing_ok = len(arguments) > 1 and str(arguments[1].this).lower() in ("true", "t", "on", "1")
    if name not in session.settings and not missing_ok:
        raise WireError("42704", f"there is no setting {shortened(name)!r}.")
    return text(session.settings[name]) if name in session.settings else nothing()


def formatted(arguments: Arguments) -> exp.Expression | None:
    """format('%s.%I', ...) as texts one after the other; None if the pattern has more than that. Names stay plain."""
    pattern, values = arguments[0].name if isinstance(arguments[0], exp.Literal) else "%", list(arguments[1:])
    parts = _PLACES.split(pattern)
    kinds = [kind for kind in parts[1::2] if kind != "%"]
    if "%" in "".join(parts[::2]) or len(kinds) != len(values):
        return None
    made: exp.Expression = text("")
    for place, part in enumerate(parts):
        value = text(part) if place % 2 == 0 or part == "%" else exp.cast(values.pop(0).copy(), "VARCHAR")
        made = exp.DPipe(this=made, expression=exp.Coalesce(this=value, expressions=[exp.Literal.string("")]))
    return exp.Paren(this=made)


def number_by_name(name: exp.Expression, session: Session) -> exp.Expression:
    """The number of the table that a text names, with its schema or without."""
    made = exp.Case(this=exp.func("replace", name.copy(), exp.Literal.string('"'), exp.Literal.string("")))
    for known, number in session.numbers.items():
        for written in (known, f"public.{known}"):
            made = made.when(exp.Literal.string(written), exp.Literal.number(number))
    return exp.cast(made.else_(exp.null()) if session.numbers else exp.null(), "UINTEGER", dialect="duckdb")


def _number(find: Callable[[str, Session], int | None]) -> Callable[[Arguments, Session], exp.Expression]:
    def made(arguments: Arguments, session: Session) -> exp.Expression:
        argument = arguments[0].this if isinstance(arguments[0], exp.Cast) else arguments[0]
        found = find(argument.name, session) if isinstance(argument, exp.Literal) else None
        return nothing("UINTEGER") if found is None else oid(found)

    return made


def _expanded(arguments: Arguments, session: Session) -> exp.Expression:
    """_pg_expandarray: a row for each item, with its place."""
    items = arguments[0].sql("duckdb")
    query = f"unnest(list_transform(range(1, len({items}) + 1), lambda k: {{'x': ({items})[k], 'n': k}}))"
    return exp.maybe_parse(query, dialect="duckdb")


def _renamed(name: str) -> Callable[[Arguments, Session], exp.Expression]:
    return lambda arguments, session: exp.Anonymous(this=name, expressions=[*arguments])


_RENAMED = {"json_build_object": "json_object", "jsonb_build_object": "json_object", "generate_subscripts":
            "generate_subscripts", "bool_or": "bool_or", "bool_and": "bool_and", "array_position": "array_position",
            "strpos": "strpos", "starts_with": "starts_with", "md5": "md5", "array_append": "array_append"}  # fmt: skip
_TRUE, _FALSE = _constant(exp.true), _constant(exp.false)
_NULL_TEXT = _constant(nothing)
_NULL_NUMBER = _constant(lambda: nothing("BIGINT"))
FUNCTIONS: dict[str, Callable[[Arguments, Session], exp.Expression]] = {
    **dict.fromkeys(
        ("has_table_privilege", "has_schema_privilege", "has_database_privilege", "has_column_privilege",
         "has_any_column_privilege", "has_function_privilege", "has_type_privilege", "has_sequence_privilege",
         "pg_has_role"),
        _TRUE,
    ),
    **dict.fromkeys(("pg_relation_is_publishable", "pg_is_in_recovery", "pg_is_other_temp_schema",
                     "pg_try_advisory_lock"), _FALSE),
    **dict.fromkeys(
        ("pg_get_expr", "pg_get_constraintdef", "pg_get_indexdef", "pg_get_viewdef", "pg_get_triggerdef",
         "pg_get_ruledef", "pg_get_partkeydef", "pg_get_functiondef", "pg_get_function_arguments",
         "pg_get_function_identity_arguments", "pg_get_function_result", "pg_get_statisticsobjdef",
         "pg_get_statisticsobjdef_columns", "pg_get_serial_sequence", "pg_get_partition_constraintdef",
         "pg_get_function_sqlbody", "pg_size_pretty", "pg_tablespace_location", "shobj_description",
         "inet_server_addr", "inet_client_addr", "pg_describe_object", "pg_get_function_arg_default"),
        _NULL_TEXT,
    ),
    **dict.fromkeys(
        ("pg_relation_size", "pg_table_size", "pg_total_relation_size", "pg_indexes_size", "pg_database_size",
         "pg_tablespace_size", "pg_stat_get_numscans", "inet_server_port", "pg_my_temp_schema", "txid_current",
         "pg_relation_filenode", "age"),
        _NULL_NUMBER,
    ),
    "pg_backend_pid": _constant(lambda: exp.cast(exp.Literal.number(0), "INT", dialect="duckdb")),
    "pg_get_userbyid": lambda arguments, session: text(session.user),
    "pg_encoding_to_char": _constant(lambda: text("UTF8")),
    "pg_char_to_encoding": _constant(lambda: exp.Literal.number(6)),
    "getdatabaseencoding": _constant(lambda: text("UTF8")),
    "pg_client_encoding": _constant(lambda: text("UTF8")),
    "current_setting": _setting,
    "format_type": lambda arguments, session: format_type(arguments),
    "obj_description": _description("table"),
    "col_description": _description("column"),
    "to_regclass": _number(relation_number),
    "to_regtype": _number(lambda name, session: type_number(name)),
    "to_regnamespace": _number(lambda name, session: None),
    "quote_ident": _first,
    "quote_literal": _first,
    "current_schemas": lambda arguments, session: schemas(implicit=True),
    "current_database": lambda arguments, session: text(session.database),
    "current_catalog": lambda arguments, session: text(session.database),
    "version": _constant(lambda: text(VERSION)),
    **{name: _renamed(other) for name, other in _RENAMED.items()},
    "pg_partition_ancestors": _constant(lambda: nothing("UINTEGER")),
    "_pg_expandarray": _expanded,
}  # fmt: skip
