"""A SELECT over rows of people, taken apart: the keys and aggregates that are asked for, and what is made of them.

Nothing of the rest may name a column of people: whatever is not inside a key or an aggregate is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from dither.sql.over.column_names import called, fresh_name, plain_name
from dither.sql.over.grouping_levels import MOST_LEVELS, Level, counted_levels, expanded, is_set
from dither.sql.over.outer_grammar import MOVED, RANKS, check_clauses
from dither.sql.text.source import Source

_MOST_FORMULAS = 32  # select items that are tried as formulas with intervals of their own
_AFTER = ("having", "qualify", "order", "limit", "offset", "windows", "distinct")


def is_call(node: exp.Expr) -> bool:
    """Whether this is one aggregate over rows, with its FILTER or WITHIN GROUP."""
    inner = node.this if isinstance(node, (exp.Filter, exp.WithinGroup)) else node
    if isinstance(inner, exp.WithinGroup):
        inner = inner.this
    return isinstance(inner, (exp.AggFunc, exp.Anonymous)) and not isinstance(inner, (exp.Grouping, *RANKS, *MOVED))


def calls(node: exp.Expr) -> Iterable[exp.Expr]:
    """The aggregates over rows in a piece of syntax: those of windows are not, but those inside them are."""
    if isinstance(node, exp.Window):
        function = node.this.this if isinstance(node.this, exp.Filter) else node.this
        beside = node.this.expression if isinstance(node.this, exp.Filter) else None
        parts = [*function.iter_expressions(), *([beside] if beside is not None else [])]
        parts += [part for part in node.iter_expressions() if part is not node.this]
    elif is_call(node):
        yield node
        return
    else:
        parts = [] if isinstance(node, exp.Query) else list(node.iter_expressions())
    for part in parts:
        yield from calls(part)


@dataclass
class GroupedSelect:
    """Keys and aggregates in the order in which they are met.

    `nested` answers a query inside an expression; `declared` says whether a name is a column of the rows, which comes
    before an alias in GROUP BY.
    """

    select: exp.Select
    source: Source
    prefix: str
    nested: Callable[[exp.Expr], exp.Expr]
    declared: Callable[[str], bool]
    keys: list[exp.Expr] = field(default_factory=list)
    values: list[exp.Expr] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)

    def read(self) -> None:
        """Find the keys and levels of GROUP BY, or of DISTINCT without any aggregate."""
        distinct = self.select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise self.source.refusal(distinct, "DISTINCT ON is not supported.", "Use QUALIFY ROW_NUMBER() OVER (...).")
        group = self.select.args.get("group")
        if group is not None:
            check_clauses(group, self.source)
        items = [] if group is None else [self._meant(node) for node in group.expressions]
        if group.args.get("all") if group is not None else self.keys_only:
            plain = [_plain(node) for node in self.select.expressions]
            items = [node for node in plain if not any(calls(node)) and node.find(exp.Window) is None]
        if (count := counted_levels(items)) > MOST_LEVELS:
            what = f"GROUP BY has {count} levels here; at most {MOST_LEVELS} are answered at once."
            raise self.source.refusal(self.select, what, "Name the levels that are needed: GROUPING SETS ((a, b), a).")
        for level in expanded(items) if items else [[]]:
            places = set()
            for key in level:
                node = self._meant(key)
                if isinstance(node, exp.Star) or any(True for _ in calls(node)) or node.find(exp.Window) is not None:
                    raise self.source.refusal(node, "this cannot be grouped by.", "Group by columns.")
                if self._place(node) is None:
                    self.keys.append(node)
                places.add(self._place(node) or 0)
            self.levels.append(tuple(sorted(places)))

    @property
    def aggregated(self) -> bool:
        """Whether it has groups or aggregates, so that its rows are no rows of people."""
        return self.select.args.get("group") is not None or any(self._calls())

    @property
    def keys_only(self) -> bool:
        """Whether it asks which keys there are, and for no aggregate."""
        distinct = self.select.args.get("distinct") is not None and self.select.find(exp.Window) is None
        return (distinct or self.select.args.get("group") is not None) and not any(self._calls())

    @property
    def several(self) -> bool:
        group = self.select.args.get("group")
        return group is not None and any(map(is_set, group.expressions))

    def key(self, place: int) -> str:
        return f"{self.prefix} key {place + 1}"

    def value(self, place: int) -> str:
        return f"{self.prefix} value {place + 1}"

    def grouping(self, place: int) -> str:
        return f"{self.prefix} grouping {place + 1}"

    def outer(self, bound: Callable[[exp.Expr], bool]) -> exp.Select:
        """The SELECT over a table of noisy rows, whose FROM is still to be set; `bound`: a formula with intervals."""
        select, taken = self.select, set[str]()
        made = exp.Select()
        for number, item in enumerate(select.expressions):
            node, name = _plain(item), item.alias if isinstance(item, exp.Alias) else ""
            whole = any(True for _ in calls(node)) and not is_call(node) and node.find(exp.Window) is None
            known = whole and number < _MOST_FORMULAS and bound(node)
            moved = self._valued(node) if known else self._moved(node)
            if isinstance(node, exp.Star):
                raise self.source.refusal(node, "rows of people are never shown.", "Name keys and aggregates.")
            if isinstance(item, exp.Alias) and not name.strip():
                raise self.source.refusal(item, "an alias has at least one letter.", "Name it, or leave AS out.")
            if name.lower() in taken:
                raise self.source.refusal(item, f"two columns are called {name!r}.", "Give each its own alias.")
            alias = fresh_name(name or plain_name(node), taken)
            made.append("expressions", called(moved, alias))
        names = {item.alias.lower() for item in made.expressions}
        for clause in _AFTER:
            found = select.args.get(clause)
            if found is not None and not (clause == "distinct" and self.keys_only):
                moved_clause = [self._clause(one, names) for one in (found if isinstance(found, list) else [found])]
                made.set(clause, moved_clause if isinstance(found, list) else moved_clause[0])
        having = made.args.pop("having", None)
        if having is not None:
            made.set("where", exp.Where(this=having.this))
        return made

    def _clause(self, node: exp.Expr, names: set[str]) -> exp.Expr:
        if isinstance(node, (exp.Limit, exp.Offset, exp.Fetch, exp.Distinct)):
            return node.copy()
        if isinstance(node, exp.Window):  # a window that WINDOW names
            return self._parts(node, names, kept=(node.this,))
        if isinstance(node, exp.Order):  # an alias comes before a column here
            return exp.Order(expressions=[self._sorted(item, names) for item in node.expressions])
        return self._moved(node, names)

    def _sorted(self, item: exp.Expr, names: set[str]) -> exp.Expr:
        node = item.this
        aliased = isinstance(node, exp.Column) and not node.table and node.name.lower() in names
        return item.copy() if aliased else self._moved(item, names)

    def _moved(self, node: exp.Expr, names: Iterable[str] = ()) -> exp.Expr:
        """The same over columns of the noisy table."""
        place = self._place(node)
        if place is not None:
            return _column(self.key(place))
        if isinstance(node, exp.Grouping):
            return self._grouping(node)
        if is_call(node):
            return self._valued(node)
        if isinstance(node, exp.Window):
            inner = node.this
            function = inner.this if isinstance(inner, exp.Filter) else inner
            made = self._parts(function, names)
            if isinstance(inner, exp.Filter):
                made = exp.Filter(this=made, expression=self._moved(inner.expression, names))
            whole = self._parts(node, names, kept=(inner,))
            whole.set("this", made)
            return whole
        if isinstance(node, exp.Column):
            if not node.table and node.name.lower() in names:
                return node.copy()
            hint = "Rows are never shown: add it to GROUP BY, or aggregate it with COUNT, SUM or AVG."
            raise self.source.refusal(node, f"{node.name!r} is neither grouped by nor aggregated.", hint)
        if isinstance(node, exp.Query):
            return self.nested(node)
        return self._parts(node, names)

    def _parts(self, node: exp.Expr, names: Iterable[str], kept: tuple[exp.Expr, ...] = ()) -> exp.Expr:
        """A copy of the node with all that stands inside it moved, but for what is kept."""
        made = node.copy()
        for name, value in node.args.items():
            if isinstance(value, list):
                made.set(name, [self._moved(one, names) if isinstance(one, exp.Expr) else one for one in value])
            elif isinstance(value, exp.Expr) and not any(value is one for one in kept) and name != "alias":
                made.set(name, self._moved(value, names) if not isinstance(value, _WORDS) else value.copy())
        return made

    def _valued(self, node: exp.Expr) -> exp.Expr:
        for place, known in enumerate(self.values):
            if _same(known, node):
                return _column(self.value(place))
        self.values.append(node)
        return _column(self.value(len(self.values) - 1))

    def _grouping(self, node: exp.Expr) -> exp.Expr:
        """GROUPING(a, b): a bit for each key, 1 where the level adds all its values up; the last is the lowest."""
        made: exp.Expr = exp.Literal.number(0)
        for key in node.expressions:
            place = self._place(self._meant(key))
            if place is None:
                raise self.source.refusal(key, "GROUPING names a key of GROUP BY.", "Name one of its keys.")
            twice = exp.Mul(this=exp.Paren(this=made), expression=exp.Literal.number(2))
            bit = _column(self.grouping(place)) if self.several else exp.Literal.number(0)
            made = exp.Add(this=twice, expression=bit)
        return exp.Paren(this=made)

    def _place(self, node: exp.Expr) -> int | None:
        return next((place for place, key in enumerate(self.keys) if _same(key, node)), None)

    def _meant(self, given: exp.Expr) -> exp.Expr:
        """What an item of GROUP BY means: itself, the select item of that alias, or of that number."""
        node = given.unnest() if isinstance(given, exp.Paren) else given
        items = self.select.expressions
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            text = str(node.this)
            place = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
            if not 0 < place <= len(items):
                hint = "Write the number of a select item, or the column's name."
                raise self.source.refusal(given, "there is no select item of that number.", hint)
            return _plain(items[place - 1])
        if isinstance(node, exp.Column) and not node.table and not self.declared(node.name):
            aliased = (
                item for item in items if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower()
            )
            return next((_plain(item) for item in aliased), node)
        return node

    def _calls(self) -> Iterable[exp.Expr]:
        beside = [self.select.args.get(name) for name in ("having", "qualify", "order")]
        for node in [*self.select.expressions, *(part for part in beside if part is not None)]:
            yield from calls(node)


_WORDS = (exp.Identifier, exp.DataType, exp.Var)


def _plain(item: exp.Expr) -> exp.Expr:
    return item.this.unnest() if isinstance(item, exp.Alias) else item.unnest()


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _same(one: exp.Expr, other: exp.Expr) -> bool:
    """Whether two pieces of syntax are the same but for letter case; a column also with its table or without."""
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        tables = {column.table.lower() for column in (one, other)} - {""}
        return one.name.lower() == other.name.lower() and len(tables) < 2
    return type(one) is type(other) and _written(one) == _written(other)


def _written(node: exp.Expr) -> str:
    """The text with unquoted names in small letters."""
    bare = node.copy()
    for name in bare.find_all(exp.Identifier):
        name.replace(exp.to_identifier(name.name.lower(), quoted=True))
    return bare.sql(dialect="postgres")
