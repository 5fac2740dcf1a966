"""The tables of a FROM and how they are joined: one after another, in parentheses, and on either side of outer joins.

Inner and LEFT joins stay a list, of which tables are joined in whatever order the conditions allow. RIGHT JOIN is LEFT
JOIN the other way round, with all that stands before it on its right; FULL JOIN puts all before it and what follows
together at once, since neither conditions nor other joins can be moved through it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from dither.sql.binding.binder import Binder, with_presence
from dither.sql.binding.joining.join_conditions import Part, conjuncts
from dither.sql.binding.joining.joins import Joining
from dither.sql.scalars.scope import Relation
from dither.sql.text.subtree import subtree

_OUTER = ("RIGHT", "FULL")


def parts_of(binder: Binder, select: exp.Expr) -> list[Part]:
    """What the FROM of a query joins."""
    joins = list(select.args.get("joins") or ())
    reading = _FromClause(binder, select)
    parts = reading.listed(select.args["from_"].this, joins, missing=False)
    among = [node for part in (select.args["from_"], *joins) for node in subtree(part) if isinstance(node, exp.Join)]
    turned = [join for join in among if _side(join) in _OUTER and join.parent_select is select]
    if turned and any(item.unalias().find(exp.Star) and not item.find(exp.Count) for item in select.expressions):
        what = f"* beside {_side(turned[0])} JOIN is not supported."
        raise binder.source.refusal(turned[0], what, "Name the columns.")
    return parts


@dataclass(frozen=True)
class _FromClause:
    binder: Binder
    select: exp.Expr

    def listed(self, first: exp.Expr, joins: list[exp.Expr], *, missing: bool) -> list[Part]:
        """Tables joined one after another; their rows may be `missing` beside rows of others."""
        if not any(_side(join) in _OUTER for join in joins):
            return self._chain(first, joins, missing)
        commas = [place for place, join in enumerate(joins) if _is_comma(join)]  # which bind less than joins
        starts = [(first, 0), *((joins[place].this, place + 1) for place in commas)]
        ends = [*commas, len(joins)]
        groups = zip(starts, ends, strict=True)
        return [part for (head, start), end in groups for part in self._chain(head, joins[start:end], missing)]

    def _chain(self, first: exp.Expr, joins: list[exp.Expr], missing: bool) -> list[Part]:
        last = max((place for place, join in enumerate(joins) if _side(join) in _OUTER), default=None)
        if last is None:
            found = self._opened(first, missing)
        else:
            join = joins[last]
            self._check(join)
            # What a RIGHT JOIN keeps is named first, as in the LEFT JOIN that it is: they are one question.
            kept = self._opened(join.this, missing) if _side(join) == "RIGHT" else []
            before = self._whole(self._chain(first, joins[:last], True))
            found = [*kept, self._with_conditions(before, join, outer=True)] if kept else [self._full(before, join)]
        for join in joins[0 if last is None else last + 1 :]:
            found += self._joined(join, missing)
        return found

    def _check(self, join: exp.Expr) -> None:
        kind, method = (str(join.args.get(name) or "").upper() for name in ("kind", "method"))
        if kind not in ("", "INNER", "CROSS", "OUTER") or method:
            word = " ".join(filter(None, (method, _side(join), kind)))
            hint = {"SEMI": "Write WHERE EXISTS (...).", "ANTI": "Write WHERE NOT EXISTS (...)."}.get(
                kind, "Write JOIN."
            )
            at = self.binder.source.keyword(kind or method)
            raise self.binder.source.refusal(join if at is None else at, f"{word} JOIN is not supported.", hint)

    def _joined(self, join: exp.Expr, missing: bool) -> list[Part]:
        self._check(join)
        if _side(join) == "LEFT":
            return [self._with_conditions(self._whole(self._opened(join.this, True)), join, outer=True)]
        head, *inner = self._opened(join.this, missing)
        return [self._with_conditions(head, join), *inner]

    def _with_conditions(self, part: Part, join: exp.Expr, *, outer: bool = False, full: bool = False) -> Part:
        on = join.args.get("on")
        conditions = () if on is None else tuple(conjuncts(on))
        return replace(part, outer=outer, full=full, conditions=conditions, using=tuple(join.args.get("using") or ()))

    def _opened(self, node: exp.Expr, missing: bool) -> list[Part]:
        """A table, or those that parentheses hold."""
        if isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Table, exp.Subquery)):
            joins = list(node.this.args.get("joins") or ())
            if isinstance(node.this, exp.Subquery) and not joins and not node.args.get("alias"):
                return self._opened(node.this, missing)  # parentheses round parentheses
            if node.args.get("alias") or not joins:
                hint = "Write (SELECT ... FROM ...) AS name."
                raise self.binder.source.refusal(node, "parentheses hold joins or a query here.", hint)
            return self.listed(node.this, joins, missing=missing)
        relation = self.binder.relation(node)
        if missing and relation.private and self._asks_for(relation):
            relation = with_presence(relation, self.binder.names.name("found"))
        return [Part((relation,), relation.node, node)]

    def _asks_for(self, relation: Relation) -> bool:
        """Whether the query asks if the owner is NULL, which tells whether an outer join found a row."""
        return any(
            isinstance(column.parent, (exp.Is, exp.Count, exp.Distinct)) and not relation.named(column.name)
            for column in self.select.find_all(exp.Column)
            if column.table.lower() == relation.called.lower() and relation.is_owner(column.name)
        )

    def _whole(self, parts: list[Part]) -> Part:
        """Parts joined by their own conditions, as one."""
        if len(parts) == 1:
            return parts[0]
        rows = Joining(self.binder, parts, None).join(())
        return Part(rows.scope.relations, rows.node, parts[0].at, merged=rows.scope.merged)

    def _full(self, left: Part, join: exp.Expr) -> Part:
        """Both sides of a FULL JOIN. Whose a row is, neither side says alone: COALESCE of their owners does."""
        right = self._with_conditions(self._whole(self._opened(join.this, True)), join, outer=True, full=True)
        for part in (left, right):
            if not part.people:
                hint = "Rows that nobody has would show: FROM people LEFT JOIN public."
                raise self.binder.source.refusal(part.at, "FULL JOIN with a public table is not supported.", hint)
        for name in right.using:
            if any(relation.named(name.name) for part in (left, right) for relation in part.relations):
                called = [f"{part.called}.{name.name}" for part in (left, right)]
                hint = f"Write ON {' = '.join(called)}, and COALESCE({', '.join(called)}) for either."
                what = f"USING ({name.name}) of a FULL JOIN names a declared column."
                raise self.binder.source.refusal(name, what, hint)
        either = tuple(one | other for one in _anchors(left) for other in _anchors(right))
        rows = Joining(self.binder, [left, right], None).join(())
        names = frozenset(name.name for name in right.using) or frozenset(map(_coalesced, either[:1]))
        whose = Relation("", rows.node, {}, names, left.people, either=either)
        for node in list(self.select.find_all(exp.Coalesce)):
            self._replace_owner(node, either, min(names))
        return Part((*rows.scope.relations, whose), rows.node, join.this, merged=rows.scope.merged)

    def _replace_owner(self, node: exp.Expr, either: tuple[frozenset[tuple[str, str]], ...], name: str) -> None:
        """COALESCE of owners of which every row has one, as the owner."""
        columns = [part.unnest() for part in (node.this, *node.expressions)]
        if not all(isinstance(column, exp.Column) and column.table for column in columns):
            return
        written = frozenset((column.table.lower(), column.name.lower()) for column in columns)
        around = node.parent_select
        while around is not None and around is not self.select:
            if {table for table, _ in written} & called_in(around):
                return
            around = around.parent_select
        if around is self.select and written in either:
            made = exp.column(exp.to_identifier(name, quoted=True))
            made.this.meta.update(columns[0].this.meta)
            node.replace(made)


def _anchors(part: Part) -> list[frozenset[tuple[str, str]]]:
    """Sets of owners, by table and name, of which every row of a part has one."""
    found: list[frozenset[tuple[str, str]]] = []
    for relation in part.relations:
        found += relation.either or [frozenset({(relation.called.lower(), name.lower())}) for name in relation.owners]
    return found


def _coalesced(owners: frozenset[tuple[str, str]]) -> str:
    return f"COALESCE({', '.join(sorted(f'{table}.{name}' for table, name in owners))})"


def called_in(select: exp.Expr) -> set[str]:
    """What the tables of a FROM are called, in lower case."""
    clause = select.args.get("from_")
    tables = [clause.this] if clause is not None else []
    tables += [join.this for join in select.args.get("joins") or ()]
    return {inner.alias_or_name.lower() for table in tables for inner in _tables(table)}


def _tables(node: exp.Expr) -> list[exp.Expr]:
    """A table, or those that parentheses hold."""
    if not isinstance(node, exp.Subquery) or not isinstance(node.this, (exp.Table, exp.Subquery)):
        return [node]
    joined = [join.this for join in node.this.args.get("joins") or ()]
    return [inner for table in (node.this, *joined) for inner in _tables(table)]


def _side(join: exp.Expr) -> str:
    return str(join.args.get("side") or "").upper()


def _is_comma(join: exp.Expr) -> bool:
    return not any(join.args.get(name) for name in ("kind", "side", "on", "using", "method"))
