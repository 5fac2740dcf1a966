"""From a parsed SELECT to a question: the relation, the groups and the aggregates it names, all of them declared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from dither.policy.catalog import Catalog
from dither.policy.columns import Category, Text
from dither.sql.binding.aggregate_calls import aggregate, is_aggregated
from dither.sql.binding.answer_clauses import Selected, bind_after
from dither.sql.binding.binder import Rows
from dither.sql.binding.everyday_forms import written_out
from dither.sql.binding.formula_kinds import is_formula
from dither.sql.binding.formula_syntax import bind_formula
from dither.sql.binding.group_keys import group_key
from dither.sql.binding.public_values import public_texts
from dither.sql.binding.regressions import with_regressions
from dither.sql.binding.relations import Relations
from dither.sql.bounding.owner_limits import most_in_all
from dither.sql.plan.aggregates import Aggregator, bounded
from dither.sql.plan.question import GroupKey, Output, Question, Shown
from dither.sql.scalars.labels import LabelReader
from dither.sql.scalars.narrowing import kept
from dither.sql.scalars.scalar import MOST_WORDS, Scalars
from dither.sql.scalars.scope import Scope
from dither.sql.text.advice import Advice
from dither.sql.text.collations import check_apart
from dither.sql.text.parse import Parsed
from dither.sql.text.source import Source


@dataclass(frozen=True)
class Item:
    """A select item without its alias."""

    node: exp.Expr
    alias: str | None


def bind(parsed: Parsed, catalog: Catalog) -> Question:
    """The question that a parsed SELECT asks of the catalogue."""
    source = parsed.source
    select = written_out(parsed.select, source, catalog)
    if select.args.get("distinct"):
        at = source.keyword("DISTINCT")
        hint = Advice.about(source, catalog).fill("Groups are all distinct, and are shown with a count: {question}")
        raise source.refusal(select if at is None else at, "SELECT DISTINCT is not supported.", hint)
    binder = Relations(source, catalog, labels=LabelReader(source)).within(select)
    rows = binder.rows(select)
    if not rows.people:
        hint = "Public tables can be joined to a table of people; a question about nobody needs no privacy."
        raise source.refusal(select, "the query names no table of people.", hint)
    scalars = replace(binder.scalars(rows.scope), kept=kept(rows.node), rows=most_in_all(rows.node))
    with_regressions(select, scalars)
    items = [
        Item(node.this.unnest(), binder.alias(node)) if isinstance(node, exp.Alias) else Item(node.unnest(), None)
        for node in select.expressions
    ]
    return _Answering(scalars, rows, items, _Names(source)).question(select)


@dataclass
class _Answering:
    """The select items in order, each a key or an output."""

    scalars: Scalars
    rows: Rows
    items: list[Item]
    fresh: _Names
    keys: list[GroupKey] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    order: list[Shown] = field(default_factory=list)
    words: int = 0  # of the outputs so far, written out

    @property
    def scope(self) -> Scope:
        return self.scalars.scope

    def question(self, select: exp.Select) -> Question:
        self._group(select)
        names: dict[int, str] = {}
        for item in self.items:
            place = self._key_of(item.node)
            if place is not None:
                if place in names:
                    raise self.scalars.refusal(item.node, f"{names[place]!r} is selected twice.", "Select it once.")
                plain = item.node.name if isinstance(item.node, exp.Column) else "key"
                names[place] = self.fresh.name(item, plain or "key")
                self.order.append(Shown("key", place))
            else:
                self._output(item)
        keys = tuple(
            GroupKey(names.get(place, key.name), key.code, key.declaration) for place, key in enumerate(self.keys)
        )
        selected = Selected(self.scope.source, self.outputs, keys, self.order, self._key_of, self._aggregate)
        after, hidden = bind_after(select, selected)
        outputs = (*self.outputs, *hidden)
        if not outputs:
            hint = "Add COUNT(*), SUM(x) or AVG(x)."
            raise self.scalars.refusal(select, "the query asks for no aggregate.", hint)
        self.scalars.small(select, [*(output.aggregate for output in outputs), *(key.code for key in self.keys)])
        return Question(self.rows.node, self.rows.people, keys, outputs, tuple(self.order), after)

    def _aggregate(self, node: exp.Expr) -> Aggregator:
        return aggregate(self.scalars, node)[0]

    def _output(self, item: Item) -> None:
        node = item.node
        if isinstance(node, exp.Column):
            hint = "Rows are never shown: add it to GROUP BY, or aggregate it with COUNT, SUM or AVG."
            name = node.name
            self.scope.find(node)
            raise self.scalars.refusal(node, f"{name!r} is neither grouped by nor aggregated.", hint)
        if is_formula(node):
            found, plain = bind_formula(self.scope.source, node, self._aggregate), "value"
        else:
            found, plain = aggregate(self.scalars, node)
        self.order.append(Shown("output", len(self.outputs)))
        self.outputs.append(Output(self.fresh.name(item, plain), found))
        self.words += found.size
        if self.words > MOST_WORDS:  # before more of it is read
            self.scalars.small(node, [output.aggregate for output in self.outputs])

    def _group(self, select: exp.Select) -> None:
        clause = select.args.get("group")
        aliased = {item.alias.lower(): item.node for item in reversed(self.items) if item.alias}
        nodes = [self._meant(given, aliased) for given in (clause.expressions if clause is not None else ())]
        if texts := public_texts(self.scope, nodes):
            self.scalars = replace(self.scalars, public_texts=texts)
        for node in nodes:
            code, declaration = group_key(self.scalars, node)
            if isinstance(declaration, (Category, Text)):
                check_apart(self.scope.source, node, getattr(declaration, "values", None))
            code = bounded(code)
            if code.size > MOST_WORDS:
                hint = "Group by its columns themselves, or by fewer decimals: ROUND(x, 1)."
                raise self.scalars.refusal(node, "the values of this key have too many gaps to be listed.", hint)
            if all((key.code, key.declaration) != (code, declaration) for key in self.keys):
                name = node.name if isinstance(node, exp.Column) else "key"
                self.keys.append(GroupKey(name, code, declaration))

    def _meant(self, given: exp.Expr, aliased: dict[str, exp.Expr]) -> exp.Expr:
        """What a GROUP BY item means: itself, the select item of that alias, or of that number."""
        node = given.unnest()
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            text = str(node.this)
            place = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
            if not 0 < place <= len(self.items):
                hint = "Write the number of a select item, or the column's name."
                raise self.scalars.refusal(given, "there is no select item of that number.", hint)
            return self.items[place - 1].node
        if isinstance(node, exp.Column) and not node.table and not self.scope.declared_as(node.name):
            return aliased.get(node.name.lower(), node)
        return node

    def _key_of(self, node: exp.Expr) -> int | None:
        """The place of the key that a select item shows."""
        if not self.keys or is_aggregated(node):
            return None
        if isinstance(node, exp.Column) and not self.scope.declared_as(node.name):
            return None
        code, declaration = group_key(self.scalars, node)
        wanted = bounded(code), declaration
        return next((place for place, key in enumerate(self.keys) if (key.code, key.declaration) == wanted), None)


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
