"""The border between people and answers: which queries of a text are questions of people, and what stands over them.

A derived table of rows, or of totals for each owner, is private as it always was. Any other derived table that
aggregates is a question by itself: it is bound, priced and answered as if it were asked alone, and all that the text
goes on to do sees the table of its noisy rows. The text over them names those tables and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog
from dither.sql.binding import selects
from dither.sql.binding.binder import Binder
from dither.sql.binding.relations import Relations
from dither.sql.over import grouping_levels, outer_grammar
from dither.sql.over.column_names import called
from dither.sql.over.grouped_select import GroupedSelect
from dither.sql.over.known_queries import Known, with_rows
from dither.sql.over.level_tables import level_tables
from dither.sql.over.over_question import Part
from dither.sql.over.public_places import reads_public
from dither.sql.over.values_alone import with_values
from dither.sql.plan.aggregates import Count, CountDistinctOwner, Sum
from dither.sql.plan.question import Output, Question
from dither.sql.scalars.labels import LabelReader
from dither.sql.text import faithfulness, parse
from dither.sql.text.source import Source

MOST_PARTS = 16  # questions of people in one text
_FIRST = "Ask for the answer first, and write its numbers into the second question."


@dataclass
class Border:
    """Takes one text apart.

    `kind` says what the budget of people counts in; with `levels`, a level of GROUP BY may be computed from another.
    """

    source: Source
    catalog: Catalog
    prefix: str
    kind: Callable[[str], str]
    levels: bool = True
    parts: list[Part] = field(default_factory=list)
    inside: int = 0  # how many queries stand around the one that is looked at

    def outer(self, query: exp.Expr, known: Known) -> exp.Query:
        """The query over tables of noisy rows that means the same."""
        while isinstance(query, (exp.Subquery, exp.Paren)):
            if isinstance(query, exp.Subquery):
                outer_grammar.check_clauses(query, self.source)
            query = query.this
        if not isinstance(query, (exp.Select, exp.Union)):
            raise self.source.refusal(query, "a query is a SELECT.", "Write SELECT ..., COUNT(*) FROM a table.")
        outer_grammar.check_clauses(query, self.source)
        named: list[exp.Expr] = []
        clause = query.args.get("with_")
        if clause is not None:
            if clause.args.get("recursive"):
                raise self.source.refusal(clause, "WITH RECURSIVE is not supported.", "Leave RECURSIVE out.")
            for one in clause.expressions:
                outer_grammar.check_clauses(one, self.source)
                if self._is_rows(one.this, known):
                    known = known.with_rows(one)
                else:
                    named.append(exp.CTE(this=self._derived(one.this, known), alias=one.args["alias"].copy()))
                    known = known.with_answer(one.alias)
        made = self._union(query, known) if isinstance(query, exp.Union) else self._select(query, known)
        if named:
            inner = made.args.get("with_")
            made.set("with_", exp.With(expressions=[*named, *(inner.expressions if inner is not None else ())]))
        return made

    def _derived(self, query: exp.Expr, known: Known) -> exp.Query:
        """The same of a query that others compute with."""
        self.inside += 1
        made = self.outer(query, known)
        self.inside -= 1
        return made

    def _union(self, query: exp.Union, known: Known) -> exp.Query:
        left, right = (
            exp.Subquery(this=self.outer(side, known)) if _is_wrapped(side) else self.outer(side, known)
            for side in (query.this, query.expression)
        )
        made = query.copy()
        made.set("with_", None)
        made.set("this", left)
        made.set("expression", right)
        return made

    def _select(self, select: exp.Select, known: Known) -> exp.Query:
        if (clause := select.args.get("from_")) is None:
            return self._select(with_values(select, self.prefix, self.source), known)
        places = [clause.this, *(join.this for join in select.args.get("joins") or ())]
        answers = [self._is_answer(place, known) for place in places]
        fitting = [has or reads_public(place, self.catalog, known) for has, place in zip(answers, places, strict=True)]
        if not any(answers) and not (self.inside and all(fitting)):
            return self._question(select, known)
        if not all(fitting):
            at = places[fitting.index(False)]
            if isinstance(at, exp.Table) and at.name.lower() not in known.rows:
                self.catalog.find(at.name)
            raise self.source.refusal(at, "rows of people cannot be joined to an answer.", _FIRST)
        made = select.copy()
        made.set("with_", None)
        return self._answered(made, known)

    def _answered(self, node: exp.Expr, known: Known) -> exp.Query:
        """A query over answers, with each query inside it in their terms too."""
        for inner in list(node.iter_expressions()):
            if isinstance(inner, exp.Subquery):
                outer_grammar.check_clauses(inner, self.source)
                alias = inner.args.get("alias")
                inner.replace(exp.Subquery(this=self._derived(inner.this, known), alias=alias and alias.copy()))
            elif isinstance(inner, exp.Query):
                inner.replace(self._derived(inner, known))
            else:
                self._answered(inner, known)
        return node  # type: ignore[return-value]

    def _is_answer(self, place: exp.Expr, known: Known) -> bool:
        if isinstance(place, exp.Subquery):
            return isinstance(place.this, exp.Query) and not self._is_rows(place.this, known)
        return isinstance(place, exp.Table) and not place.db and place.name.lower() in known.answers

    def _is_rows(self, query: exp.Expr, known: Known) -> bool:
        """Whether this is a derived table of rows, or of totals for each owner, as a question may read it."""
        if any(table.name.lower() in known.answers for table in query.find_all(exp.Table)):
            return False
        try:
            self._binder(known).derived(query.copy())
        except UnsupportedQuery:
            if self._by_owner(query, known):
                raise  # totals for each owner, but not such as are known: no answer is meant
            return False
        return True

    def _by_owner(self, query: exp.Expr, known: Known) -> bool:
        """Whether a query groups by the owner."""
        group = query.args.get("group")
        if not isinstance(query, exp.Select) or group is None:
            return False
        try:
            scope = self._binder(known).rows(query.copy()).scope
        except UnsupportedQuery:
            return False
        return any(scope.is_owner(key) for key in group.expressions if isinstance(key, exp.Column))

    def _binder(self, known: Known) -> Binder:
        binder = Relations(self.source, self.catalog, labels=LabelReader(self.source))
        return binder.within(with_rows(exp.Select(), known))

    def _question(self, select: exp.Select, known: Known) -> exp.Query:
        """A question as it stands, or what can be computed from one, or from several."""
        try:
            return _all_of(self._part(select, self._bind(select, known), known))
        except UnsupportedQuery as refused:
            first = refused
        grouped = GroupedSelect(
            select,
            self.source,
            self.prefix,
            lambda query: self._inside(query, known),
            lambda name: self._has(select, known, name),
        )
        if not grouped.aggregated and not grouped.keys_only:
            window = select.find(exp.Window)
            if window is None:
                raise first
            hint = "Aggregate them first, with GROUP BY: a window then sees the noisy rows of the answer."
            raise self.source.refusal(window, "a window over rows of people would compare people.", hint)
        if grouped.keys_only and self.inside:
            what = "a list of keys cannot be computed with: those of few people are not on it."
            raise self.source.refusal(select, what, "Write COUNT(DISTINCT x) to count values, or add COUNT(*).")
        marked = grouped.several or grouped.keys_only or any(map(select.args.get, ("qualify", "windows", "distinct")))
        marked = marked or select.find(exp.Window) is not None
        try:
            made = self._grouped(grouped, known)
        except UnsupportedQuery:
            if marked:
                raise
            raise first from None
        if not marked and all(isinstance(item.this, exp.Column) for item in made.expressions):
            raise first  # keys and aggregates alone: a question, refused for its own reason
        return made

    def _grouped(self, grouped: GroupedSelect, known: Known) -> exp.Select:
        grouped.read()
        made = grouped.outer(lambda node: self._bound(grouped, node, known))
        distinct = list(dict.fromkeys(grouped.levels))
        questions = {level: self._bind(self._asked(grouped, level), known) for level in distinct}
        counts = [self._groups(questions[level]) for level in distinct]
        origin = {level: level for level in distinct}
        if grouped.several and self.levels and not grouped.keys_only:
            kind = self.kind(questions[distinct[0]].people)
            origin = grouping_levels.sources(distinct, counts, kind)
        tables = {}
        for level in dict.fromkeys(origin.values()):
            asked, weight = self._asked(grouped, level), list(origin.values()).count(level)
            tables[level] = self._part(asked, questions[level], known, weight, grouped.keys_only)
        if not grouped.several:
            return made.from_(_named(tables[grouped.levels[0]].table))
        united = level_tables(grouped, origin, {level: part.table for level, part in tables.items()})
        alias = exp.TableAlias(this=exp.to_identifier(f"{self.prefix} levels", quoted=True))
        return made.from_(exp.Subquery(this=united, alias=alias))

    def _asked(
        self, grouped: GroupedSelect, level: grouping_levels.Level, values: list[exp.Expr] | None = None
    ) -> exp.Select:
        """The question of one level: its keys, and all aggregates."""
        made = exp.Select()
        for name in ("from_", "joins", "where"):
            found = grouped.select.args.get(name)
            made.set(name, [one.copy() for one in found] if isinstance(found, list) else found and found.copy())
        for place in level:
            made.append("expressions", called(grouped.keys[place].copy(), grouped.key(place)))
        for place, node in enumerate(grouped.values if values is None else values):
            made.append("expressions", called(node.copy(), grouped.value(place)))
        if grouped.keys_only:
            counted = called(exp.Count(this=exp.Star(), big_int=True), grouped.value(0))
            made.append("expressions", counted)
        if level:
            made.set("group", exp.Group(expressions=[grouped.keys[place].copy() for place in level]))
        return made

    def _bound(self, grouped: GroupedSelect, node: exp.Expr, known: Known) -> bool:
        """Whether a formula of aggregates is one that questions know, with an interval of its own."""
        asked = self._asked(grouped, grouped.levels[0], [node])
        asked.set("where", None)  # does not decide it, and is not read again for each
        try:
            self._bind(asked, known)
        except UnsupportedQuery:
            return False
        return True

    def _has(self, select: exp.Select, known: Known, name: str) -> bool:
        plain = select.copy()
        plain.set("where", None)  # which names there are follows from FROM
        return self._binder(known).rows(plain).scope.declared_as(name) is not None

    def _bind(self, select: exp.Select, known: Known) -> Question:
        for table in select.find_all(exp.Table):  # an answer hides a table of its name, also inside conditions
            if not table.db and table.name.lower() in known.answers:
                raise self.source.refusal(table, "rows of people cannot be compared with an answer.", _FIRST)
        asked = with_rows(select.copy(), known)
        return selects.bind(parse.checked(asked, self.source, self.catalog), self.catalog)

    def _part(
        self, select: exp.Select, question: Question, known: Known, weight: int = 1, present: bool = False
    ) -> Part:
        if present:
            question = replace(question, outputs=(Output(question.outputs[0].name, CountDistinctOwner()),))
        plain = with_rows(select.copy(), known)
        own = [item for item in plain.expressions if item.alias.startswith(f"{self.prefix} ")]
        labels = tuple((item.alias, faithfulness.written(item.this)) for item in own)
        for item in own:
            item.replace(item.this)
        text = faithfulness.written(plain)
        for known_part in self.parts:
            if (known_part.question, known_part.weight, known_part.present) == (question, weight, present):
                return known_part  # asked once, however often it is written
        if self.parts and self.parts[0].question.people != question.people:
            raise self.source.refusal(select, "one text asks about the people of one budget.", "Ask two questions.")
        if len(self.parts) == MOST_PARTS:
            raise self.source.refusal(select, f"this asks more than {MOST_PARTS} questions of people.", "Ask several.")
        self.parts.append(Part(f"{self.prefix} {len(self.parts) + 1}", question, text, labels, weight, present))
        return self.parts[-1]

    def _inside(self, query: exp.Expr, known: Known) -> exp.Expr:
        made = self._derived(query, known)
        return exp.Subquery(this=made) if isinstance(query, exp.Subquery) else made

    @staticmethod
    def _groups(question: Question) -> int | None:
        """How many groups a level has, if they are public and its values add up."""
        if not question.public or not all(type(output.aggregate) in (Count, Sum) for output in question.outputs):
            return None
        return math.prod(key.declaration.key_count or 1 for key in question.keys)


def _is_wrapped(side: exp.Expr) -> bool:
    """Whether a side of UNION stands in parentheses, or has an order of its own."""
    return isinstance(side, (exp.Subquery, exp.Paren))


def _named(table: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(table, quoted=True))


def _all_of(part: Part) -> exp.Select:
    names = [exp.column(exp.to_identifier(name, quoted=True)) for name, _ in part.columns]
    return exp.Select(expressions=names).from_(_named(part.table))
