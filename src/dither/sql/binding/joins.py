"""From the tables of FROM and the conditions between them to joins that keep every private row with its owner.

Tables are joined in whatever order the conditions allow: a public table by its key, a table of the same people by an
equality of owners (or of a foreign key, which implies it). A condition not used by a join filters the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.names import quoted
from dither.sql.binding.binder import Binder, Rows, nullable_columns
from dither.sql.binding.join_conditions import Condition, Part, condition_of, equality_with, has_query
from dither.sql.expressions import Boolean, Expression, Stored, StoredText, simplifier
from dither.sql.guard.facts import facts
from dither.sql.plan.nodes import Equality, JoinOwner, JoinPublic, Node
from dither.sql.scalars.scope import Identity, Relation, Scope


@dataclass
class Joining:
    """Joins the parts one by one; `joined` are the places of those that are in `node` already."""

    binder: Binder
    parts: list[Part]
    around: Scope | None
    relations: list[Relation] = field(default_factory=list)
    joined: set[int] = field(default_factory=set)
    node: Node | None = None

    def join(self, where: Iterable[exp.Expr]) -> Rows:
        self.relations = [part.relation for part in self.parts]
        scope = self._scope()
        pending = [node for node in where if has_query(node)]
        conditions = [condition_of(node, scope) for node in where if not has_query(node)]
        outer: dict[int, list[Condition]] = {}
        for place, part in enumerate(self.parts):
            own = [condition_of(node, scope) for node in (*part.conditions, *self._using(place))]
            if any(has_query(condition.node) for condition in own):
                raise self._refusal(place, "a subquery in ON is not supported.", "Write it in WHERE.")
            if part.outer:
                outer[place] = own
            else:
                conditions += own
        self._begin()
        left = [place for place in range(len(self.parts)) if place not in self.joined]
        while left:
            ready = next((place for place in left if self._attach(place, conditions, outer.get(place))), None)
            if ready is None:
                raise self._unjoined(left[0])
            left.remove(ready)
        return self._rows(conditions, tuple(pending))

    def _begin(self) -> None:
        """Start from the first table of people that is not on the right of a LEFT JOIN, if there is one."""
        inner = [place for place, part in enumerate(self.parts) if not part.outer]
        private = [place for place in inner if self.relations[place].private]
        first = private[0] if private else 0
        if not private and any(relation.private for relation in self.relations):
            place = next(place for place, relation in enumerate(self.relations) if relation.private)
            hint = "Rows that nobody has would show: start from the table of people, FROM people LEFT JOIN public."
            raise self._refusal(place, "a public table cannot be on the left of a table of people.", hint)
        self.joined, self.node = {first}, self.relations[first].node

    def _rows(self, conditions: list[Condition], pending: tuple[exp.Expr, ...]) -> Rows:
        scope = self._scope()
        scalars = self.binder.scalars(scope)
        identities: dict[str, Identity] = {}
        for relation in self.relations:
            identities |= relation.identities or {}
        people = next((relation.people for relation in self.relations if relation.private), "")
        rows = Rows(_given(self.node), scope, people, identities, pending)
        inner = [condition for condition in conditions if not condition.around]
        rows = rows.where(simplifier.conjunction(scalars.truth(condition.node) for condition in inner))
        linked = any(condition.around_owner for condition in conditions)
        correlated = tuple(
            condition.node for condition in conditions if condition.around and not condition.around_owner
        )
        return replace(rows, correlated=correlated, linked=linked)

    # One more table

    def _attach(self, place: int, conditions: list[Condition], own: list[Condition] | None) -> bool:
        """Join the relation if its conditions allow it; those that the join holds are taken off the list."""
        relation = self.relations[place]
        among = conditions if own is None else own
        known = self.joined | {place}
        if own is not None and not all(condition.places <= known and not condition.around for condition in own):
            return False
        between = [c for c in among if place in c.places and c.places <= known and len(c.places) > 1 and not c.around]
        scalars = self.binder.scalars(self._scope())
        found = [(id(condition), equality_with(place, condition, scalars)) for condition in between]
        pairs = {which: pair for which, pair in found if pair is not None}
        for condition in between:
            self._refuse_missing_owner(condition, place)
        same_owner = [c for c in between if c.owners is not None] + [
            c for c in between if c.owners is None and id(c) in pairs and self._same_identity(pairs[id(c)])
        ]
        equal = tuple(pairs.values())
        joined: JoinOwner | JoinPublic | None
        if self._people() and relation.private:
            joined = self._owner_join(relation, equal) if same_owner else None
        else:
            joined = self._public_join(relation, equal, turnable=own is None)
        if joined is None:
            return False
        used = {id(c) for c in between if id(c) in pairs or c.owners is not None}
        if own is None:
            conditions[:] = [c for c in conditions if id(c) not in used]
        else:
            rest = [c for c in own if id(c) not in used]
            joined = replace(joined, outer=True, condition=self._truth(rest))
            self.relations[place] = nullable_columns(relation)
        self.node = joined
        self.joined.add(place)
        return True

    def _owner_join(self, relation: Relation, equal: tuple[Equality, ...]) -> JoinOwner:
        if relation.people != self._people():
            what = f"{quoted(relation.called)} is about other people, {relation.people!r}."
            hint = "Only tables of the same people can be joined; they share one budget."
            raise self.binder.source.refusal(self.parts[self.relations.index(relation)].at, what, hint)
        return JoinOwner(_given(self.node), relation.node, equal)

    def _public_join(self, relation: Relation, equal: tuple[Equality, ...], *, turnable: bool) -> JoinPublic | None:
        """The public side must be found by its key. Which side that is can be chosen in an inner join."""
        node = _given(self.node)
        if not relation.private and _found_by_key(relation.node, (pair[1] for pair in equal)):
            return JoinPublic(node, relation.node, equal)
        if turnable and not self._people() and _found_by_key(node, (pair[0] for pair in equal)):
            return JoinPublic(relation.node, node, tuple((theirs, ours) for ours, theirs in equal))
        return None

    def _people(self) -> str:
        return next((self.relations[place].people for place in self.joined if self.relations[place].private), "")

    def _truth(self, conditions: Sequence[Condition]) -> Boolean | None:
        if not conditions:
            return None
        scalars = self.binder.scalars(self._scope())
        return simplifier.conjunction(scalars.truth(condition.node) for condition in conditions)

    # Conditions

    def _scope(self) -> Scope:
        merged = frozenset(name.name.lower() for part in self.parts for name in part.using)
        return Scope(tuple(self.relations), self.binder.source, self.around, merged)

    def _using(self, place: int) -> list[exp.Expr]:
        """USING (x) as an equality with the one table before that has such a column."""
        found: list[exp.Expr] = []
        for name in self.parts[place].using:
            called = name.name
            before = [r for r in self.relations[:place] if r.named(called) or r.is_owner(called)]
            if len(before) != 1:
                raise self._refusal(place, f"USING ({called}) does not name one earlier table.", "Write ON a.x = b.x.")
            left, right = (exp.column(called, table=r.called, quoted=True) for r in (before[0], self.relations[place]))
            found.append(exp.EQ(this=left, expression=right))
        return found

    def _same_identity(self, pair: Equality) -> bool:
        found = []
        for value in pair:
            if not isinstance(value, (Stored, StoredText)):
                return False
            identities = [(relation.identities or {}).get(value.name) for relation in self.relations]
            found.append(next((identity for identity in identities if identity is not None), None))
        return found[0] is not None and found[1] is not None and found[0].implies_owner(found[1])

    # Refusals

    def _refuse_missing_owner(self, condition: Condition, place: int) -> None:
        """Rows that LEFT JOIN found nothing for have no owner on its right, though they have one."""
        for other in condition.owners or ():
            if other != place and self.parts[other].outer:
                first = next(self.relations[p] for p in sorted(self.joined) if self.relations[p].owners)
                hint = f"Compare with {quoted(first.called)}.{quoted(min(first.owners))}, which every row has."
                what = f"the owner of {quoted(self.relations[other].called)} may be missing after its LEFT JOIN."
                raise self.binder.source.refusal(condition.node, what, hint)

    def _refusal(self, place: int, what: str, hint: str) -> UnsupportedQuery:
        return self.binder.source.refusal(self.parts[place].at, what, hint)

    def _unjoined(self, place: int) -> UnsupportedQuery:
        relation = self.relations[place]
        called = quoted(relation.called)
        if not relation.private:
            key = facts(relation.node).distinct
            names = [quoted(name) for name, (inner, _) in relation.columns.items() if inner in (key or ())]
            hint = f"Join it on its whole key: ... ON {called}.{names[0]} = ..." if names else "It has no key."
            listing = f" ({', '.join(names)})" if len(names) > 1 else ""
            return self._refusal(place, f"the public table {called} is not joined on its key{listing}.", hint)
        if not self._people():
            return self._refusal(
                place, f"{called} is not joined on the key of the public tables.", "Compare with all key columns."
            )
        joined = next(self.relations[place] for place in sorted(self.joined) if self.relations[place].private)
        if not relation.owners or not joined.owners:
            what = f"{called if not relation.owners else quoted(joined.called)} does not say who the owner of a row is."
            hint = "Select the owner in a derived table; a row-level table has none to join on."
            return self._refusal(place, what, hint)
        sides = (f"{quoted(one.called)}.{quoted(min(one.owners, default='owner'))}" for one in (joined, relation))
        hint = f"Add an equality of owners: {' = '.join(sides)}."
        return self._refusal(place, f"{called} is joined without an equality of owners.", hint)


def _found_by_key(node: Node, values: Iterable[Expression]) -> bool:
    known = facts(node)
    names = {value.name for value in values if isinstance(value, (Stored, StoredText))}
    return not known.private and known.distinct is not None and known.distinct <= names


def _given(node: Node | None) -> Node:
    if node is None:
        raise TypeError("nothing was joined")
    return node
