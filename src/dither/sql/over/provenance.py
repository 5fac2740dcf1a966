"""What is known of every column over answers: its name, whether noise is in it, and of which noisy cells it is a sum.

Names and `*` are written out. Where noise decides which rows there are, what is added up over them is no sum of cells
that was fixed beforehand, and has no list of terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dither.policy.catalog import PublicTable
from dither.sql.over import terms_of_cells
from dither.sql.over.column_names import called, fresh_name, plain_name
from dither.sql.over.over_columns import OverColumn, Rows, Scope, aggregated, nested, over_rows
from dither.sql.over.over_question import OverQuestion, Part
from dither.sql.over.public_places import finds_one
from dither.sql.over.terms_of_cells import column, of_cell, quotient_terms, terms
from dither.sql.text.source import Source


@dataclass(frozen=True)
class Traced:
    """The query with its lists of terms behind all other columns, and what is known of the columns."""

    tree: exp.Query
    rows: Rows

    @property
    def listed(self) -> tuple[int, ...]:
        """The places of columns that have a list, in the order of the lists."""
        return tuple(place for place, one in enumerate(self.rows.columns) if one.listed)


def traced(over: OverQuestion, *, lists: bool = True) -> Traced:
    """Write out what the query over answers names. Without `lists` no terms are computed.

    Rows that the text puts in no order stand in that of their public columns, then of the others; those that look alike
    in that of their cells, which tell their intervals apart.
    """
    tree = over.outer.copy()
    holder = exp.Subquery(this=tree)
    tables = {part.table: part for part in over.parts}
    rows = _Tracing(over.source, tables, over.public, over.prefix, lists).query(tree, {}, (), top=True)
    if isinstance(tree, exp.Select) and tree.args.get("order") is None:
        cut = tree.args.get("limit") is not None or tree.args.get("offset") is not None
        public = [place for place, one in enumerate(rows.columns, 1) if not one.noisy]
        others = [] if cut else [place for place, one in enumerate(rows.columns, 1) if one.noisy]
        listed = range(len(rows.columns) + 1, len(tree.expressions) + 1)
        places = [*public, *others, *listed] if public else []
        ordered = [exp.Ordered(this=exp.Literal.number(place), desc=False, nulls_first=False) for place in places]
        tree.set("order", exp.Order(expressions=ordered) if ordered else None)
    return Traced(holder.this, rows)


@dataclass(frozen=True)
class _Tracing:
    source: Source
    parts: dict[str, Part]
    public: Mapping[str, PublicTable]
    prefix: str
    lists: bool

    def query(self, tree: exp.Expr, named: dict[str, Rows], around: tuple[Scope, ...], *, top: bool = False) -> Rows:
        """What a query gives; its lists are added to it."""
        clause = tree.args.get("with_")
        for one in clause.expressions if clause is not None else ():
            renamed = [name.name for name in one.args["alias"].args.get("columns") or ()]
            found = self.query(one.this, named, ())
            if renamed:
                found = self._renamed(one, found, renamed)
            named = {**named, one.alias.lower(): found}
        if isinstance(tree, exp.Subquery):
            return self.query(tree.this, named, around, top=top)
        if isinstance(tree, exp.Union):
            return self._union(tree, named, around)
        return self._select(tree, named, around, top=top)

    def _renamed(self, node: exp.Expr, found: Rows, names: list[str]) -> Rows:
        if len(names) != len(found.columns):
            raise self.source.refusal(node, "this list has not as many names as there are columns.", "Name each.")
        columns = tuple(replace(one, name=name) for one, name in zip(found.columns, names, strict=True))
        listed = [f"{self.prefix} terms {name}" for one, name in zip(found.columns, names, strict=True) if one.listed]
        alias = node.args["alias"]
        alias.set("columns", [exp.to_identifier(name, quoted=True) for name in [*names, *listed]])
        return replace(found, columns=columns)

    def _union(self, tree: exp.Union, named: dict[str, Rows], around: tuple[Scope, ...]) -> Rows:
        sides = [tree.this, tree.expression]
        found = [self.query(side, named, around) for side in sides]
        if len(found[0].columns) != len(found[1].columns):
            raise self.source.refusal(tree.expression, "both sides of UNION have as many columns.", "Name as many.")
        distinct = bool(tree.args.get("distinct"))
        pairs = list(zip(*(rows.columns for rows in found), strict=True))
        listed = [
            not distinct and all(one.listed or not one.noisy for one in pair) and any(one.noisy for one in pair)
            for pair in pairs
        ]
        for side, rows in zip(sides, found, strict=True):
            self._set_lists(side, rows, listed)
        columns = tuple(OverColumn(a.name, a.noisy or b.noisy, has) for (a, b), has in zip(pairs, listed, strict=True))
        scope = Scope([("", Rows(columns))])
        chosen = (
            any(rows.chosen for rows in found)
            or self._cut(tree, (scope,))
            or (distinct and any(a.noisy for a in columns))
        )
        return Rows(columns, chosen)

    def _set_lists(self, side: exp.Expr, rows: Rows, wanted: Sequence[bool]) -> None:
        """Exactly the lists that both sides of a union have; empty ones for columns without noise."""
        while isinstance(side, (exp.Subquery, exp.Union)):
            if isinstance(side, exp.Union):
                self._set_lists(side.this, rows, wanted)
                side = side.expression
            else:
                side = side.this
        items = side.expressions
        lists = {item.alias: item for item in items[len(rows.columns) :]}
        side.set("expressions", items[: len(rows.columns)])
        for item, has in zip(list(side.expressions), wanted, strict=True):
            if has:
                name = f"{self.prefix} terms {item.alias}"
                side.append("expressions", lists.get(name) or called(terms_of_cells.nothing(), name))

    def _select(self, tree: exp.Expr, named: dict[str, Rows], around: tuple[Scope, ...], *, top: bool) -> Rows:
        relations, joined = [], []
        for place in [tree.args["from_"].this, *(join.this for join in tree.args.get("joins") or ())]:
            relations.append(self._place(place, named))
        scope = Scope(relations)
        for join in tree.args.get("joins") or ():
            using = [exp.column(name.name) for name in join.args.get("using") or ()]
            joined += [part for part in (join.args.get("on"), *using) if part is not None]
        self._expand(tree, scope)
        self._name(tree)
        scopes = (scope, *around)
        for inside in nested(tree):
            replace(self, lists=False).query(inside, named, scopes)
        chosen = any(rows.chosen for _, rows in relations) or any(self._noisy(part, scopes, named) for part in joined)
        before = [part for name in ("where", "group") if (part := tree.args.get(name)) is not None]
        chosen = chosen or any(self._noisy(part, scopes, named) for part in before)
        noise = [
            self._noisy(item.this, scopes, named) or (chosen and over_rows(item.this)) for item in tree.expressions
        ]
        aliases = {item.alias.lower(): has for item, has in zip(tree.expressions, noise, strict=True)}
        named_scopes = (replace(scope, aliases=aliases), *around)
        after = [part for name in ("having", "qualify") if (part := tree.args.get(name)) is not None]
        picked = any(self._noisy(part, named_scopes, named) for part in after) or self._cut(tree, named_scopes)
        grouped = tree.args.get("group") is not None or any(aggregated(item.this) for item in tree.expressions)
        distinct = tree.args.get("distinct") is not None
        picked = picked or (distinct and any(noise))
        of = relations[0][1].of if not grouped and not distinct and self._looked_up(tree) else None
        # Rows of one answer, of which noise shows some at the very end: each is still that row.
        whole = not chosen and not picked
        lists = self.lists and not distinct and (whole or (top and of is not None))
        columns = []
        for item, has in zip(list(tree.expressions), noise, strict=True):
            found = self._terms(item.this, scopes, named, quotient=top and whole) if lists and has else None
            columns.append(OverColumn(item.alias, has, found is not None))
            if found is not None:
                tree.append("expressions", called(found, f"{self.prefix} terms {item.alias}"))
        return Rows(tuple(columns), chosen or picked, of)

    def _looked_up(self, tree: exp.Expr) -> bool:
        """Whether each row of the first relation is there once at most: what is joined is public, and found by key."""
        return all(
            isinstance(join.this, exp.Table)
            and join.this.name in self.public
            and finds_one(join, self.public[join.this.name])
            for join in tree.args.get("joins") or ()
        )

    def _terms(
        self, node: exp.Expr, scopes: tuple[Scope, ...], named: dict[str, Rows], *, quotient: bool
    ) -> terms_of_cells.Terms:
        def of(one: exp.Column) -> terms_of_cells.Terms:
            found = scopes[0].find(one)
            if found is None or not found[1].listed:
                return None
            return column(f"{self.prefix} terms {found[1].name}", found[0])

        given = (of, lambda part: self._noisy(part, scopes, named), f"{self.prefix} term")
        found = terms(node, *given)
        return quotient_terms(node, *given) if found is None and quotient else found

    def _place(self, place: exp.Expr, named: dict[str, Rows]) -> tuple[str, Rows]:
        """A relation of FROM, and what it is called there."""
        if isinstance(place, exp.Subquery):
            return place.alias or "", self.query(place.this, named, ())
        known = named.get(place.name.lower())
        alias = place.alias or place.name
        if known is not None:
            return alias, known
        if place.name in self.public:
            return alias, Rows(tuple(OverColumn(name, noisy=False) for name in self.public[place.name].columns))
        part = self.parts[place.name]
        values = [name for name, noisy in part.columns if noisy]
        columns = tuple(OverColumn(name, noisy, noisy and self.lists) for name, noisy in part.columns)
        if self.lists and values:
            row = f"{self.prefix} row"
            made = exp.Select(expressions=[column(name) for name, _ in part.columns])
            for number, name in enumerate(values):
                made.append("expressions", called(of_cell(row, number), f"{self.prefix} terms {name}"))
            made = made.from_(exp.Table(this=exp.to_identifier(part.table, quoted=True)))
            named_so = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
            place.replace(exp.Subquery(this=made, alias=named_so))
        after = part.question.after
        chosen = not part.question.public or part.present or (after is not None and after.chooses_by_noise)
        return alias, Rows(columns, chosen, part)

    def _expand(self, tree: exp.Expr, scope: Scope) -> None:
        """Write `*` out."""
        shared = {name.name.lower() for join in tree.args.get("joins") or () for name in join.args.get("using") or ()}
        items: list[exp.Expr] = []
        for item in tree.expressions:
            star = isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))
            if not star:
                items.append(item)
                continue
            wanted, seen = (item.table.lower() if isinstance(item, exp.Column) else ""), set[str]()
            for table, rows in scope.relations:
                for one in rows.columns:
                    twice = one.name.lower() in shared and one.name.lower() in seen and not wanted
                    if wanted in ("", table.lower()) and not twice:
                        merged = one.name.lower() in shared and not wanted
                        items.append(column(one.name, "" if merged else table))
                        seen.add(one.name.lower())
        tree.set("expressions", items)

    def _name(self, tree: exp.Expr) -> None:
        """Give every select item a name of its own."""
        taken: set[str] = set()
        items: list[exp.Expr] = []
        for item in tree.expressions:
            if isinstance(item, exp.Alias):
                if not item.alias.strip():
                    raise self.source.refusal(item, "an alias has at least one letter.", "Name it, or leave AS out.")
                if item.alias.lower() in taken:
                    raise self.source.refusal(
                        item, f"two columns are called {item.alias!r}.", "Give each its own alias."
                    )
                taken.add(item.alias.lower())
                items.append(item)
            else:
                items.append(called(item, fresh_name(plain_name(item), taken)))
        tree.set("expressions", items)

    def _cut(self, tree: exp.Expr, scopes: tuple[Scope, ...]) -> bool:
        """Whether LIMIT or OFFSET shows rows that noise has put in front."""
        order = tree.args.get("order")
        cut = tree.args.get("limit") is not None or tree.args.get("offset") is not None
        if not cut or order is None:
            return False
        columns = [one for _, rows in scopes[0].relations for one in rows.columns]
        for item in order.expressions:
            if isinstance(item.this, exp.Literal):
                place = int(str(item.this.this)) - 1 if str(item.this.this).isdigit() else -1
                shown = list(scopes[0].aliases.values()) or [one.noisy for one in columns]
                if not 0 <= place < len(shown) or shown[place]:
                    return True
            elif self._noisy(item.this, scopes, {}):
                return True
        return False

    def _noisy(self, node: exp.Expr, scopes: tuple[Scope, ...], named: dict[str, Rows]) -> bool:
        """Whether noise can change what this is."""
        if isinstance(node, exp.Query):
            inner = node.this if isinstance(node, exp.Subquery) else node
            found = self.query(inner.copy(), named, scopes)
            return found.chosen or any(one.noisy for one in found.columns)
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self._column(node, scopes)
        if over_rows(node) and any(rows.chosen for _, rows in scopes[0].relations):
            return True
        return any(self._noisy(inner, scopes, named) for inner in node.iter_expressions())

    def _column(self, node: exp.Column, scopes: tuple[Scope, ...]) -> bool:
        for scope in scopes:
            found = scope.find(node)
            if found is not None:
                return found[1].noisy
            if not node.table and node.name.lower() in scope.aliases:
                return scope.aliases[node.name.lower()]
        known = [one.name for _, rows in scopes[0].relations for one in rows.columns]
        listed = ", ".join(name for name in known if not name.startswith(self.prefix))
        raise self.source.refusal(node, f"there is no column {node.name!r} in the answer.", f"It has: {listed}.")
