"""The relations of a FROM, and what the conditions between them name."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dither.policy.names import quoted
from dither.sql.expressions import Numeric, Textual, simplifier
from dither.sql.plan.nodes import Equality, Node
from dither.sql.scalars.scalar import Scalars, Value
from dither.sql.scalars.scope import Relation, Scope
from dither.sql.text.subtree import subtree


@dataclass(frozen=True)
class Part:
    """What one JOIN of FROM brings: a relation, or several that are joined already, and their plan.

    `outer` if it is the right side of a LEFT JOIN (or of a FULL one, which keeps its own rows as well): such a side has
    conditions of its own. `merged` are names of USING inside it.
    """

    relations: tuple[Relation, ...]
    node: Node
    at: exp.Expr
    outer: bool = False
    full: bool = False
    conditions: tuple[exp.Expr, ...] = ()
    using: tuple[exp.Expr, ...] = ()
    merged: frozenset[str] = frozenset()

    @property
    def people(self) -> str:
        """Whose rows these are; empty if they are public."""
        return next((relation.people for relation in self.relations if relation.private), "")

    @property
    def called(self) -> str:
        return quoted(self.relations[0].called)


@dataclass(frozen=True)
class Condition:
    """A condition and the places of the relations that it names; `around` if it names the query around as well."""

    node: exp.Expr
    places: frozenset[int]
    around: bool
    owners: tuple[int, int] | None = None  # the relations whose owners it holds equal
    around_owner: bool = False  # whether it holds the owner equal to that of the query around


def condition_of(node: exp.Expr, scope: Scope) -> Condition:
    """A condition with the places of what it names, told apart from the query around."""
    equality = isinstance(node, exp.EQ)
    sides = [side.unnest() for side in (node.this, node.expression)] if equality else []
    if equality and all(isinstance(side, exp.Column) for side in sides):
        here = [scope.owner_of(side) for side in sides]
        _refuse_missing(scope, sides, here)
        places = [scope.relations.index(relation) for relation in here if relation is not None]
        if len(places) == 2 and places[0] != places[1]:
            return Condition(node, frozenset(places), False, owners=(places[0], places[1]))
        if scope.around is not None and len(places) == 1:
            other = sides[0] if here[1] is not None else sides[1]
            if not _knows(scope, other) and scope.around.owner_of(other) is not None:
                return Condition(node, frozenset(places), True, around_owner=True)
    places_found: set[int] = set()
    columns = [inner for inner in subtree(node) if isinstance(inner, exp.Column)]
    outside = [column for column in columns if scope.around is not None and not _knows(scope, column)]
    for column in outside:
        _refuse_farther(column, scope)
    for column in columns:
        if column not in outside:
            relation = scope.found_in(column) or scope.place(column)[0]
            places_found.add(scope.relations.index(relation))
    return Condition(node, frozenset(places_found), bool(outside))


def _refuse_missing(scope: Scope, sides: list[exp.Expr], owners: list[Relation | None]) -> None:
    """An owner compared with one that is NULL on some rows: those rows have an owner all the same."""
    for side, other in zip(sides, reversed(owners), strict=True):
        relation = next((one for one in scope.relations if one.called.lower() == side.text("table").lower()), None)
        if relation is not None and other is not None and side.name.lower() in {n.lower() for n in relation.missing}:
            what = f"the owner of {quoted(relation.called)} may be missing after an outer join."
            raise scope.source.refusal(side, what, f"Compare with {scope.owner_name}, which every row has.")


def equality_with(here: frozenset[int], condition: Condition, scalars: Scalars) -> Equality | None:
    """An equality between what is joined already and the relations at these places, if the condition is one."""
    if condition.owners is not None or not isinstance(condition.node, exp.EQ):
        return None
    sides = [condition.node.this, condition.node.expression]
    places = [condition_of(side, scalars.scope).places for side in sides]
    mine, others = condition.places & here, condition.places - here
    if places == [mine, others]:
        sides.reverse()
    elif places != [others, mine]:
        return None
    return comparable(*(scalars.value(side) for side in sides))


def comparable(left: Value, right: Value) -> Equality | None:
    """Both sides of an equality as expressions that are equal as they stand; None if they need more than that."""
    if isinstance(left.node, Textual) and isinstance(right.node, Textual) and "literal" not in (left.kind, right.kind):
        return left.node, right.node
    if not isinstance(left.node, Numeric) or not isinstance(right.node, Numeric) or left.kind != right.kind:
        return None
    if left.kind == "category" and (left.category is None or left.category.values != _values(right)):
        return None
    if left.kind not in ("number", "date", "timestamp", "category"):
        return None
    first, second = simplifier.aligned((left.node, right.node))
    return first, second


def _values(value: Value) -> tuple[str, ...] | None:
    return None if value.category is None else value.category.values


def _refuse_farther(column: exp.Column, scope: Scope) -> None:
    """A column of a query that is not directly around this one."""
    around = scope.around
    farther = None if around is None or _knows(around, column) else around.around
    while farther is not None:
        if _knows(farther, column):
            hint = "Compare with columns of this query and of the one directly around it."
            raise scope.source.refusal(column, f"{column.sql()} belongs to a query farther out.", hint)
        farther = farther.around


def has_query(node: exp.Expr) -> bool:
    """Whether a query stands inside."""
    return any(isinstance(inner, exp.Select) for inner in subtree(node))


def _knows(scope: Scope, column: exp.Column) -> bool:
    among = [r for r in scope.relations if not column.table or r.called.lower() == column.table.lower()]
    return any(relation.named(column.name) or relation.is_owner(column.name) for relation in among)


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins, from left to right."""
    found: list[exp.Expr] = []
    left = [node]
    while left:
        inner = left.pop()
        plain = inner.unnest() if isinstance(inner, exp.Paren) else inner
        if isinstance(plain, exp.And):
            left += [plain.expression, plain.this]
        else:
            found.append(plain)
    return found
