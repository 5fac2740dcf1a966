"""From a parsed SELECT to a question: the table, the groups and the aggregates it names, all of them declared."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from dither.columns import Coded
from dither.sql import normal, predicates, scalar
from dither.sql.advice import Advice
from dither.sql.aggregates import Aggregator, Average, Count, CountDistinctOwner, Sum
from dither.sql.catalog import Catalog
from dither.sql.expressions import Boolean, Truth
from dither.sql.labels import LabelReader
from dither.sql.literals import LARGEST
from dither.sql.names import quoted
from dither.sql.parse import Parsed
from dither.sql.question import GroupKey, Output, Question, Shown
from dither.sql.scalar import Scalars, Scope
from dither.sql.source import Source
from dither.sql.statement import MOST_GROUPS, MOST_ROWS

RULES = {**scalar.RULES, **predicates.RULES}


@dataclass(frozen=True)
class Item:
    """A select item without its alias."""

    node: exp.Expr
    alias: str | None


def _item(node: exp.Expr, source: Source) -> Item:
    if not isinstance(node, exp.Alias):
        return Item(node, None)
    return Item(node.this, _alias(node, source))


def _alias(node: exp.Expr, source: Source) -> str:
    alias = str(node.alias)
    if not alias.strip():
        raise source.refusal(node.args["alias"], "an alias has at least one letter.", "Name it, or leave AS out.")
    return alias


def bind(parsed: Parsed, catalog: Catalog) -> Question:
    """The question that a parsed SELECT asks of the catalogue."""
    select, source = parsed.select, parsed.source
    scope = _scope(select, source, catalog)
    scalars = Scalars(scope, LabelReader(source), RULES)
    items = [_item(node, source) for node in select.expressions]
    where = select.args.get("where")
    predicate = None if where is None else _predicate(scalars, where)
    columns = _grouped(select, items, scope)
    outputs: list[Output] = []
    order: list[Shown] = []
    names: dict[str, str] = {}
    fresh = _Names(source)
    for item in items:
        node = item.node.unnest()
        if isinstance(node, exp.Column) and not _is_grouped(node, columns, scope):
            hint = "Rows are never shown: add it to GROUP BY, or aggregate it with COUNT, SUM or AVG."
            raise source.refusal(node, f"{node.name!r} is neither grouped by nor aggregated.", hint)
        if isinstance(node, exp.Column):
            name, _ = scope.find(node)
            if name in names:
                raise source.refusal(node, f"{name!r} is selected twice.", "Select each key once.")
            names[name] = fresh.name(item, name)
            order.append(Shown("key", list(columns).index(name)))
        else:
            aggregate, plain = _aggregate(scalars, node)
            order.append(Shown("output", len(outputs)))
            outputs.append(Output(fresh.name(item, plain), aggregate))
    if not outputs:
        raise source.refusal(select, "the query asks for no aggregate.", "Add COUNT(*), SUM(x) or AVG(x).")
    scalars.small(select, [*(output.aggregate for output in outputs), *([predicate] if predicate is not None else [])])
    keys = tuple(GroupKey(names.get(name, name), name, declared) for name, declared in columns.items())
    return Question(scope.table, predicate, keys, tuple(outputs), tuple(order))


def _scope(select: exp.Select, source: Source, catalog: Catalog) -> Scope:
    clause = select.args.get("from_")
    if clause is None or not isinstance(clause.this, exp.Table) or not isinstance(clause.this.this, exp.Identifier):
        raise source.refusal(select, "the query names no table.", "Write FROM and a registered table.")
    table = catalog.table(clause.this.name)
    return Scope(table, _alias(clause.this, source) if clause.this.args.get("alias") else table.name, source)


def _predicate(scalars: Scalars, where: exp.Expr) -> Boolean | None:
    truth = scalars.truth(where.this)
    return None if truth == Truth(True) else truth


def _grouped(select: exp.Select, items: list[Item], scope: Scope) -> dict[str, Coded]:
    """The grouping columns by declared name, in GROUP BY order."""
    clause = select.args.get("group")
    aliased = {item.alias.lower(): item.node.unnest() for item in reversed(items) if item.alias}
    columns: dict[str, Coded] = {}
    count = 1
    for node in clause.expressions if clause is not None else ():
        name, declared = scope.find(_key(node, items, aliased, scope))
        if not isinstance(declared, Coded) or declared.key_count is None:
            hint = Advice(scope.table).groups(computed=True)
            raise scope.source.refusal(node, f"{name!r} has no public list of values to group by.", hint)
        if name not in columns:
            columns[name] = declared
            count *= declared.key_count
        if count > MOST_GROUPS:
            what = f"these keys make {count} groups; at most {MOST_GROUPS} are answered."
            raise scope.source.refusal(node, what, "Group by fewer columns, or declare narrower ones.")
    return columns


def _key(node: exp.Expr, items: list[Item], aliased: dict[str, exp.Expr], scope: Scope) -> exp.Column:
    """The column a GROUP BY item means: itself, the select item of that alias, or of that number."""
    inner: exp.Expr | None = node.unnest()
    if isinstance(inner, exp.Literal) and not inner.args.get("is_string"):
        text = str(inner.this)
        place = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
        inner = items[place - 1].node.unnest() if 0 < place <= len(items) else None
    elif isinstance(inner, exp.Column) and not inner.table and not scope.declared_as(inner.name):
        inner = aliased.get(inner.name.lower(), inner)
    if not isinstance(inner, exp.Column):
        hint = Advice(scope.table).groups(computed=not isinstance(inner, exp.AggFunc) and inner is not None)
        raise scope.source.refusal(node, "groups are made of declared columns.", hint)
    return inner


def _is_grouped(node: exp.Column, columns: dict[str, Coded], scope: Scope) -> bool:
    return scope.find(node)[0] in columns


def _aggregate(scalars: Scalars, node: exp.Expr) -> tuple[Aggregator, str]:
    """The aggregate of a select item, and the name it is shown by without an alias."""
    inner = node.this
    if isinstance(node, exp.Count):
        if isinstance(inner, exp.Star):
            return Count(), "count"
        if isinstance(inner, exp.Distinct):
            return _owners(scalars, inner), "count"
        counted = scalars.value(inner)
        if counted.kind == "null":
            raise scalars.refusal(node, "COUNT(NULL) counts nothing.", "Write COUNT(*).")
        present = normal.negation(normal.is_null(counted.node))
        return Count(present if counted.node.nullable else None), _named("count", inner)
    if isinstance(node, (exp.Sum, exp.Avg)):
        if isinstance(inner, exp.Distinct):
            owner = quoted(scalars.scope.table.owner)
            what = f"DISTINCT is supported in COUNT(DISTINCT {owner}) only."
            raise scalars.refusal(node, what, "Leave DISTINCT out.")
        value = scalars.number(inner)
        if not 2 * MOST_ROWS * value.reach < LARGEST:
            hint = "Its declared bounds allow more than 126 bits; use smaller factors or narrower columns."
            raise scalars.refusal(node, "this sum can grow too large.", hint)
        if isinstance(node, exp.Sum):
            return Sum(value), _named("sum", inner)
        return Average(value), _named("avg", inner)
    if isinstance(node, exp.Star):
        raise scalars.refusal(node, "rows are never shown.", "Select COUNT(*), SUM(x) or AVG(x), by group if you like.")
    if node.find(exp.AggFunc):
        hint = "Select each aggregate by itself, and compute with the answers."
        raise scalars.refusal(node, "arithmetic on aggregates is not supported.", hint)
    owner = quoted(scalars.scope.table.owner)
    hint = f"Select grouped columns and COUNT(*), COUNT(x), COUNT(DISTINCT {owner}), SUM(x) or AVG(x)."
    raise scalars.refusal(node, "a select item is a grouped column or one aggregate.", hint)


def _owners(scalars: Scalars, distinct: exp.Distinct) -> Aggregator:
    scope = scalars.scope
    counted = distinct.expressions[0] if len(distinct.expressions) == 1 else None
    if isinstance(counted, exp.Column) and scope.is_owner(counted):
        scope.check_qualifier(counted)
        return CountDistinctOwner()
    hint = f"Write COUNT(DISTINCT {quoted(scope.table.owner)}), or GROUP BY the column."
    raise scalars.refusal(distinct, "only owners can be counted DISTINCT.", hint)


def _named(function: str, argument: exp.Expr) -> str:
    inner = argument.unnest()
    return f"{function}_{inner.name}" if isinstance(inner, exp.Column) else function


@dataclass
class _Names:
    """The names of the shown columns, each given once, in whatever case."""

    source: Source
    taken: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)

    def name(self, item: Item, plain: str) -> str:
        """The alias, or the plain name with the first number that makes it new."""
        name = item.alias or plain
        if item.alias and name.lower() in self.taken:
            raise self.source.refusal(item.node, f"two columns are called {name!r}.", "Give each its own alias.")
        while name.lower() in self.taken:
            self.numbers[plain] = self.numbers.get(plain, 1) + 1
            name = f"{plain}_{self.numbers[plain]}"
        self.taken.add(name.lower())
        return name
