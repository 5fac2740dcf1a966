"""From a client's query of the catalog to the worker's SQL: relations and functions by their names, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dither.errors import UnsupportedQuery
from dither.escape import shortened
from dither.server.wire.catalog import functions
from dither.server.wire.catalog.column_names import name_columns
from dither.server.wire.catalog.functions import FUNCTIONS, Session
from dither.server.wire.catalog.identities import BY_NAME, NAMESPACES, PROCEDURES
from dither.server.wire.catalog.relations import RELATIONS
from dither.server.wire.sqlstates import WireError
from dither.sql.text.limits import tokens

_SCHEMAS = ("pg_catalog", "information_schema")
_ALLOWED = (
    *(exp.And, exp.Or, exp.Not, exp.Case, exp.If, exp.Cast, exp.Coalesce, exp.Nullif, exp.Lower, exp.Upper, exp.Length),
    *(exp.Substring, exp.StrPosition, exp.Concat, exp.ConcatWs, exp.Trim, exp.Replace, exp.SplitPart, exp.Left),
    *(exp.Right, exp.RegexpReplace, exp.RegexpLike, exp.RegexpILike, exp.Count, exp.Sum, exp.Min, exp.Max, exp.Avg),
    *(exp.ArrayAgg, exp.GroupConcat, exp.LogicalOr, exp.LogicalAnd, exp.RowNumber, exp.Array, exp.ArrayToString),
    *(exp.StringToArray, exp.ArraySize, exp.Unnest, exp.Explode, exp.Any, exp.All, exp.Exists, exp.Abs, exp.Greatest),
    *(exp.Least, exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.ArrayConcat, exp.AnyValue),
)
_NAMED = ("unnest", "generate_subscripts", "all", "any")  # that need no other words
_SPOKEN: Mapping[type[exp.Expression], Callable[[Session], exp.Expression]] = {
    exp.CurrentUser: lambda session: functions.text(session.user),
    exp.SessionUser: lambda session: functions.text(session.user),
    exp.CurrentDatabase: lambda session: functions.text(session.database),
    exp.CurrentSchema: lambda session: functions.text("public"),
    exp.CurrentVersion: lambda session: functions.text(functions.VERSION),
    exp.CurrentCatalog: lambda session: functions.text(session.database),
    exp.CurrentRole: lambda session: functions.text(session.user),
}
_TYPES = {"oid": "UINTEGER", "name": "VARCHAR", "char": "VARCHAR", "bpchar": "VARCHAR",
          "regprocedure": "VARCHAR", "information_schema.sql_identifier": "VARCHAR", "sql_identifier": "VARCHAR",
          "character_data": "VARCHAR", "xid": "UINTEGER", "int2vector": "SMALLINT[]", "oidvector": "UINTEGER[]",
          "regrole": "VARCHAR", "cardinal_number": "INTEGER"}  # fmt: skip


_OWN = "cte__"  # before the names of CTEs, as the worker knows them
_NUMBER = re.compile(r"[0-9]{1,10}")  # of something in the catalog
_REGISTERED = ("regclass", "regtype", "regnamespace", "regproc")


@dataclass
class Rewritten:
    """The worker's SQL, and the relations that it reads under their names there."""

    sql: str
    relations: dict[str, tuple[str, str]] = field(default_factory=dict)


def relation_of(table: exp.Table, known: Mapping[str, Any]) -> tuple[str, str] | None:
    """The relation of the catalog that a table names, if it is one; `known` are the names of CTEs."""
    schema, name = table.db.lower(), _table_name(table)
    if schema in _SCHEMAS:
        return schema, name
    if not schema and name.startswith("pg_") and name not in known:
        return "pg_catalog", name
    return None


def _table_name(table: exp.Table) -> str:
    inner = table.this
    if isinstance(inner, exp.Anonymous):
        return str(inner.this).lower()
    return inner.name.lower() if isinstance(inner, exp.Identifier) else ""


def parsed(text: str) -> exp.Expression | None:
    """The query, if it is a small and plain one; None if it cannot be read."""
    try:
        tokens(text)
        found: Any = sqlglot.parse_one(text, read="postgres")
    except (UnsupportedQuery, SqlglotError, RecursionError, ValueError):
        return None
    return found if isinstance(found, (exp.Select, exp.SetOperation, exp.Subquery)) else None


def rewritten(tree: exp.Expression, session: Session) -> Rewritten:
    """The query for the worker; 0A000 for whatever is not on the lists."""
    return _Rewriting(session).query(tree)


class _Rewriting:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._relations: dict[str, tuple[str, str]] = {}
        self._ctes: set[str] = set()

    def query(self, tree: exp.Expression) -> Rewritten:
        names = {cte.alias.lower(): cte for cte in tree.find_all(exp.CTE)}
        for clause in list(tree.find_all(exp.Lock, exp.Into)):
            if isinstance(clause, exp.Into):
                raise refused("SELECT INTO")
            clause.pop()
        name_columns(tree)
        for dot in reversed(list(tree.find_all(exp.Dot))):
            _without_schema(dot)
        for table in list(tree.find_all(exp.Table)):
            self._table(table, names)
        for cte in tree.find_all(exp.CTE):
            cte.args["alias"].set("this", exp.to_identifier(_OWN + cte.alias.lower(), quoted=True))
        holder = exp.Paren(this=tree)
        for node in reversed(list(holder.walk(bfs=False))):  # what is inside comes first
            if node is not holder:
                self._node(node)
        if any(table.name == functions.DESCRIPTIONS for table in holder.find_all(exp.Table)):
            self._relations[functions.DESCRIPTIONS] = ("pg_catalog", "pg_description")
        self._check(holder)
        return Rewritten(holder.this.sql("duckdb", comments=False), self._relations)

    def _check(self, tree: exp.Expression) -> None:
        """Once more, of what the worker gets: it names relations of ours, and nothing else."""
        for table in tree.find_all(exp.Table):
            known = table.name in self._relations or table.name in self._ctes or isinstance(table.this, exp.Func)
            if not known or table.db:
                raise refused("this query")

    def _table(self, table: exp.Table, names: Mapping[str, Any]) -> None:
        if isinstance(table.this, (exp.Explode, exp.Unnest, exp.GenerateSeries, exp.ExplodingGenerateSeries)) or (
            isinstance(table.this, exp.Anonymous) and str(table.this.this).lower() in _NAMED
        ):
            table.set("db", None)
            alias = table.args.get("alias")
            if alias is not None and not alias.args.get("columns"):  # its one column has the same name
                alias.set("columns", [alias.this.copy()])
            return
        relation = relation_of(table, names)
        if relation is None:
            if table.db or table.name.lower() not in names or not isinstance(table.this, exp.Identifier):
                raise refused(f"{shortened(table.sql(), 60)} beside the catalog")
            # A name that means nothing to the worker where the CTE is out of scope, whatever relations it has itself.
            name = _OWN + table.name.lower()
            self._ctes.add(name)
            self._named(table, table.this.name, name)
            return
        if relation not in RELATIONS:
            raise refused(f"the relation {shortened('.'.join(relation), 80)}")
        name = "__".join(relation)
        self._relations[name] = relation
        self._named(table, relation[1], name)
        table.set("db", None)
        table.set("catalog", None)

    @staticmethod
    def _named(table: exp.Table, known_as: str, name: str) -> None:
        """Another name for the worker, under the one by which the query calls it."""
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(known_as)))
        table.set("this", exp.to_identifier(name, quoted=True))

    def _node(self, node: Any) -> None:
        if isinstance(node, exp.Column) and node.args.get("db") is not None:
            node.set("db", None)
            node.set("catalog", None)
        elif isinstance(node, exp.Collate):
            node.replace(node.this)
        elif isinstance(node, exp.Operator):
            node.replace(_operator(node))
        elif isinstance(node, exp.Cast):
            self._cast(node)
        elif isinstance(node, exp.DataType):
            _data_type(node)
        elif isinstance(node, exp.Anonymous):
            self._function(node)
        elif type(node) in _SPOKEN:
            node.replace(_SPOKEN[type(node)](self._session))
        elif isinstance(node, exp.CurrentSchemas):
            node.replace(functions.schemas(implicit=str(node.this).lower() != "false"))
        elif isinstance(node, exp.Format):
            made = functions.formatted([node.this, *node.expressions])
            if made is None:
                raise refused("this form of format")
            node.replace(made)
        elif isinstance(node, exp.Func) and not isinstance(node, _ALLOWED):
            raise refused(f"the function {shortened(node.sql_name(), 60)}")

    def _function(self, node: exp.Anonymous) -> None:
        name = str(node.this).lower()
        made = FUNCTIONS.get(name)
        if made is not None:
            try:
                node.replace(made([*node.expressions], self._session))
            except IndexError:
                raise refused(f"{name} with so few arguments") from None
        elif name == "array_upper" or name == "array_lower":
            replaced = exp.Anonymous(this="len", expressions=node.expressions[:1])
            node.replace(replaced if name == "array_upper" else exp.Literal.number(1))
        elif name.endswith("_is_visible"):
            node.replace(exp.true())
        elif name not in _NAMED:
            raise refused(f"the function {shortened(name, 60)}")

    def _cast(self, node: exp.Cast) -> None:
        """A name of something to its number, a number to its name where that is asked for, and types of our own."""
        kind = _kind(node)
        if kind in _REGISTERED:
            node.replace(self._registered(node, kind))
        elif isinstance(node.this, exp.Literal) and kind.endswith("[]") and node.this.name.startswith("{"):
            items = [part.strip().strip('"') for part in node.this.name.strip("{}").split(",") if part]
            node.set("this", exp.Array(expressions=[exp.Literal.string(item) for item in items]))

    def _registered(self, node: exp.Cast, kind: str) -> exp.Expression:
        if isinstance(node.this, exp.Literal) and node.this.is_string:
            name = node.this.name
            if _NUMBER.fullmatch(name):
                return functions.oid(int(name))
            found = {
                "regclass": lambda: functions.relation_number(name, self._session),
                "regtype": lambda: functions.type_number(name),
                "regnamespace": lambda: NAMESPACES.get(name.lower()),
                "regproc": lambda: PROCEDURES.get(name.lower().removeprefix("pg_catalog.")),
            }[kind]()
            if found is None:
                state = {"regclass": "42P01", "regtype": "42704", "regnamespace": "3F000", "regproc": "42883"}[kind]
                raise WireError(state, f"there is nothing of the name {shortened(name, 60)!r}.")
            return functions.oid(found)
        value: exp.Expression = node.this
        if kind == "regclass" and isinstance(value.unnest(), (exp.DPipe, exp.Concat)):
            return functions.number_by_name(value, self._session)
        if not _shown(node):
            return value
        if kind == "regclass":
            return functions.relation_name(value, self._session)
        if kind == "regproc":
            return functions.procedure_name(value)
        return functions.format_type([value]) if kind == "regtype" else value


def _without_schema(node: exp.Dot) -> None:
    """The function of a schema as one without: only those of the catalog are known, by their names."""
    called = node.expression
    if not isinstance(called, exp.Func) or not isinstance(node.this, exp.Identifier):
        return  # a field of a row
    if node.this.name.lower() not in _SCHEMAS:
        raise refused(shortened(node.sql(), 60))
    if isinstance(called, exp.Anonymous) and str(called.this).lower() not in FUNCTIONS:
        called = exp.func(str(called.this), *called.expressions, dialect="postgres")
    node.replace(called)


def _shown(node: exp.Expression) -> bool:
    """Whether a value is selected or made a text, so that its name is meant and not its number."""
    parent = node.parent
    if isinstance(parent, exp.Cast):
        return _kind(parent) in ("text", "varchar", "name")
    while isinstance(parent, (exp.Alias, exp.Paren)):
        parent = parent.parent
    return isinstance(parent, (exp.Select, exp.DPipe, exp.Coalesce))


def _data_type(node: exp.DataType) -> None:
    """A type of PostgreSQL's as the worker's; names of things are no types there."""
    kind = _type_name(node)
    if kind in _TYPES:
        node.replace(exp.DataType.build(_TYPES[kind], dialect="duckdb"))
    elif node.this == exp.DataType.Type.USERDEFINED and kind not in _REGISTERED:
        if kind not in BY_NAME:
            raise refused(f"the type {shortened(kind, 60)}")
        node.replace(exp.DataType.build(kind, dialect="postgres"))


def _kind(cast: exp.Cast) -> str:
    return _type_name(cast.args["to"])


def _type_name(to: exp.DataType) -> str:
    kind = to.args.get("kind")
    if kind is not None:
        written = kind.sql("postgres") if isinstance(kind, exp.Expression) else str(kind)
        return written.lower().replace('"', "").removeprefix("pg_catalog.")
    return str(to.sql("postgres")).lower()


def _operator(node: exp.Operator) -> exp.Expression:
    sign = str(node.args["operator"]).rpartition(".")[2].strip(") ")
    kinds: dict[str, type[exp.Expression]] = {"=": exp.EQ, "<>": exp.NEQ, "~": exp.RegexpLike, "~~": exp.Like}
    if sign in ("!~",):
        return exp.Not(this=exp.RegexpLike(this=node.this, expression=node.expression))
    if sign not in kinds:
        raise refused("this operator")
    return kinds[sign](this=node.this, expression=node.expression)


def refused(what: str) -> WireError:
    return WireError(
        "0A000",
        f"{what} is not answered here.",
        hint="The catalog has tables, columns and types, from what is declared.",
    )
