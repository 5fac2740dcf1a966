"""From the tables of FROM and the conditions between them to joins that keep every private row with its owner.

Tables are joined in whatever order the conditions allow: a public table by its key, a table of the same people by an
equality of owners (or of a foreign key, which implies it). Only where nothing else can be joined, a public table is
joined by other conditions, or by none, which multiplies rows. A condition not used by a join filters the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.catalog import MOST_ROWS
from dither.policy.names import quoted
from dither.sql.binding.binder import Binder, Rows, nullable_columns
from dither.sql.binding.joining.join_conditions import Condition, Part, condition_of, equality_with, has_query
from dither.sql.expressions import Boolean, Expression, Stored, StoredText, simplifier
from dither.sql.guard.facts import facts
from dither.sql.plan.nodes import Equality, JoinFull, JoinOwner, JoinPublic, Node
from dither.sql.scalars.scope import Identity, Relation, Scope


@dataclass
class Joining:
    """Joins the parts one by one. A relation has its place among those of all parts; `joined` are the places of those
    that are in `node` already."""

    binder: Binder
    parts: list[Part]
    around: Scope | None
    relations: list[Relation] = field(default_factory=list)
    places: list[frozenset[int]] = field(default_factory=list)
    joined: frozenset[int] = frozenset()
    node: Node | None = None

    def join(self, where: Iterable[exp.Expr]) -> Rows:
        for part in self.parts:
            first = len(self.relations)
            self.relations += part.relations
            self.places.append(frozenset(range(first, len(self.relations))))
        scope = self._scope()
        pending: list[exp.Expr] = []
        conditions: list[Condition] = []
        for node in where:
            if has_query(node):
                pending.append(node)
            else:
                conditions.append(condition_of(node, scope))
        outer: dict[int, list[Condition]] = {}
        for number, part in enumerate(self.parts):
            own = [condition_of(node, scope) for node in (*part.conditions, *self._using(number))]
            if any(has_query(condition.node) for condition in own):
                raise self._refusal(number, "a subquery in ON is not supported.", "Write it in WHERE.")
            if part.outer:
                outer[number] = own
            else:
                conditions += own
        left = self._begin()
        while left:
            ready = next((one for one in left if self._attach(one, conditions, outer.get(one))), None)
            if ready is None:
                ready = next((one for one in left if self._attach(one, conditions, outer.get(one), by_key=False)), None)
            if ready is None:
                raise self._unjoined(left[0])
            left.remove(ready)
        return self._rows(conditions, tuple(pending))

    def _begin(self) -> list[int]:
        """Start from the first table of people that is not on the right of a LEFT JOIN, if there is one."""
        inner = [number for number, part in enumerate(self.parts) if not part.outer]
        private = [number for number in inner if self.parts[number].people]
        first = private[0] if private else 0
        if not private and any(part.people for part in self.parts):
            number = next(number for number, part in enumerate(self.parts) if part.people)
            hint = "Rows that nobody has would show: start from the table of people, FROM people LEFT JOIN public."
            raise self._refusal(number, "a public table cannot be on the left of a table of people.", hint)
        self.joined, self.node = self.places[first], self.parts[first].node
        return [number for number in range(len(self.parts)) if number != first]

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

    def _attach(
        self, number: int, conditions: list[Condition], own: list[Condition] | None, *, by_key: bool = True
    ) -> bool:
        """Join the part if its conditions allow it; those that the join holds are taken off the list."""
        part, here = self.parts[number], self.places[number]
        among = conditions if own is None else own
        known = self.joined | here
        if own is not None and not all(condition.places <= known and not condition.around for condition in own):
            return False
        between = [c for c in among if c.places & here and c.places - here and c.places <= known and not c.around]
        scalars = self.binder.scalars(self._scope())
        found = [(id(condition), equality_with(here, condition, scalars)) for condition in between]
        pairs = {which: pair for which, pair in found if pair is not None}
        for condition in between:
            self._refuse_missing_owner(condition, here)
        same_owner = [c for c in between if c.owners is not None] + [
            c for c in between if c.owners is None and id(c) in pairs and self._same_identity(pairs[id(c)])
        ]
        equal = tuple(pairs.values())
        joined: JoinOwner | JoinPublic | None
        if self._people() and part.people:
            joined = self._owner_join(number, equal) if same_owner else None
        elif by_key:
            joined = self._public_join(part, equal, turnable=own is None)
        else:
            joined = self._multiplied(part, equal, [c for c in between if id(c) not in pairs])
        if joined is None:
            return False
        held = {id(c) for c in between if id(c) in pairs or c.owners is not None}
        if own is None:
            used = held if by_key else {id(c) for c in between}
            conditions[:] = [c for c in conditions if id(c) not in used]
        else:
            truth = self._truth([c for c in own if id(c) not in held])
            self._missing(here)
            joined = replace(joined, outer=True, condition=truth)
        self.node = self._fully(joined) if part.full else joined
        self.joined = known
        return True

    def _owner_join(self, number: int, equal: tuple[Equality, ...]) -> JoinOwner:
        part = self.parts[number]
        if part.people != self._people():
            what = f"{part.called} is about other people, {part.people!r}."
            hint = "Only tables of the same people can be joined; they share one budget."
            raise self.binder.source.refusal(part.at, what, hint)
        return JoinOwner(_given(self.node), part.node, equal)

    def _fully(self, joined: JoinOwner | JoinPublic) -> JoinFull:
        """The join that keeps the rows of both sides, so that what is joined already may be missing too."""
        if not isinstance(joined, JoinOwner):
            raise TypeError("FULL JOIN is between tables of people")
        self._missing(self.joined)
        return JoinFull(joined.child, joined.other, joined.equal, joined.condition)

    def _missing(self, places: Iterable[int]) -> None:
        for place in places:
            self.relations[place] = nullable_columns(self.relations[place])

    def _public_join(self, part: Part, equal: tuple[Equality, ...], *, turnable: bool) -> JoinPublic | None:
        """The public side must be found by its key. Which side that is can be chosen in an inner join."""
        node = _given(self.node)
        if not part.people and _found_by_key(part.node, (pair[1] for pair in equal)):
            return JoinPublic(node, part.node, equal)
        if turnable and not self._people() and _found_by_key(node, (pair[0] for pair in equal)):
            return JoinPublic(part.node, node, tuple((theirs, ours) for ours, theirs in equal))
        return None

    def _multiplied(self, part: Part, equal: tuple[Equality, ...], between: Sequence[Condition]) -> JoinPublic | None:
        """Each row beside every public row for which the conditions hold; of those it must be known how many."""
        if part.people or facts(part.node).total >= MOST_ROWS:
            return None
        return JoinPublic(_given(self.node), part.node, equal, self._truth(between))

    def _people(self) -> str:
        return next((self.relations[place].people for place in self.joined if self.relations[place].private), "")

    def _truth(self, conditions: Sequence[Condition]) -> Boolean | None:
        if not conditions:
            return None
        scalars = self.binder.scalars(self._scope())
        return simplifier.conjunction(scalars.truth(condition.node) for condition in conditions)

    # Conditions

    def _scope(self) -> Scope:
        merged = frozenset(name.name.lower() for part in self.parts if not part.full for name in part.using)
        inside = (part.merged for part in self.parts)
        return Scope(tuple(self.relations), self.binder.source, self.around, merged.union(*inside))

    def _using(self, number: int) -> list[exp.Expr]:
        """USING (x) as an equality with the one table before that has such a column."""
        found: list[exp.Expr] = []
        for name in self.parts[number].using:
            called = name.name
            having = [place for place, r in enumerate(self.relations) if r.named(called) or r.is_owner(called)]
            before = [self.relations[place] for place in having if place < min(self.places[number])]
            here = [self.relations[place] for place in having if place in self.places[number]]
            if len(before) != 1 or len(here) != 1:
                what = f"USING ({called}) does not name one earlier table."
                raise self._refusal(number, what, "Write ON a.x = b.x.")
            left, right = (exp.column(called, table=r.called or None, quoted=True) for r in (before[0], here[0]))
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

    def _refuse_missing_owner(self, condition: Condition, here: frozenset[int]) -> None:
        """Rows that LEFT JOIN found nothing for have no owner on its right, though they have one."""
        for other in condition.owners or ():
            if other not in here and not self.relations[other].owners:
                first = next(self.relations[place] for place in sorted(self.joined) if self.relations[place].owners)
                hint = f"Compare with {_owner_of(first)}, which every row has."
                what = f"the owner of {quoted(self.relations[other].called)} may be missing after its LEFT JOIN."
                raise self.binder.source.refusal(condition.node, what, hint)

    def _refusal(self, number: int, what: str, hint: str) -> UnsupportedQuery:
        return self.binder.source.refusal(self.parts[number].at, what, hint)

    def _unjoined(self, number: int) -> UnsupportedQuery:
        part = self.parts[number]
        if not part.people:
            key = facts(part.node).distinct
            columns = [item for relation in part.relations for item in relation.columns.items()]
            names = [quoted(name) for name, (inner, _) in columns if inner in (key or ())]
            hint = f"Join it on its whole key: ... ON {part.called}.{names[0]} = ..." if names else "It has no key."
            hint += " Or have it refreshed, so that it is known how many of its rows one row can find."
            listing = f" ({', '.join(names)})" if len(names) > 1 else ""
            return self._refusal(number, f"the public table {part.called} is not joined on its key{listing}.", hint)
        if not self._people():
            what = f"{part.called} is not joined on the key of the public tables."
            return self._refusal(number, what, "Compare with all key columns.")
        sides = [[self.relations[place] for place in sorted(places)] for places in (self.joined, self.places[number])]
        owned = [next((relation for relation in side if relation.owners), None) for side in sides]
        if owned[0] is None or owned[1] is None:
            silent = next(side for side, found in zip(sides, owned, strict=True) if found is None)
            called = next(quoted(relation.called) for relation in silent if relation.private)
            hint = "Select the owner in a derived table; a row-level table has none to join on."
            return self._refusal(number, f"{called} does not say who the owner of a row is.", hint)
        hint = f"Add an equality of owners: {_owner_of(owned[0])} = {_owner_of(owned[1])}."
        return self._refusal(number, f"{part.called} is joined without an equality of owners.", hint)


def _owner_of(relation: Relation) -> str:
    return f"{quoted(relation.called)}.{relation.owner_name}" if relation.called else relation.owner_name


def _found_by_key(node: Node, values: Iterable[Expression]) -> bool:
    known = facts(node)
    names = {value.name for value in values if isinstance(value, (Stored, StoredText))}
    return not known.private and known.distinct is not None and known.distinct <= names


def _given(node: Node | None) -> Node:
    if node is None:
        raise TypeError("nothing was joined")
    return node
