"""Which columns a query can name: those of the relations in its FROM, under the names they have there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from dither.policy.columns import Column
from dither.policy.names import listed, meant, quoted
from dither.sql.expressions import Stored
from dither.sql.plan.nodes import Node
from dither.sql.text.source import Source
from dither.sql.text.subtree import subtree


@dataclass(frozen=True)
class Identity:
    """A table and its key, which a column holds: as that key itself, or to find the owner there by a foreign key.

    A foreign key found one owner only, so a column equal to it belongs to the same. Two columns that are both the key
    itself tell nothing of each other: each owner may have all its values.
    """

    table: str
    key: str
    foreign: bool

    def implies_owner(self, other: Identity) -> bool:
        return (self.table, self.key) == (other.table, other.key) and (self.foreign or other.foreign)


@dataclass(frozen=True)
class Relation:
    """A table, derived table or join: its plan, and its columns by the names they are called, in any case.

    A column is a name in the plan and a declaration. `owners` are the names by which the owner of a row is called;
    `identities` say of columns, by their names in the plan, which table's key they hold. `owner_places` are the select
    items of a derived table that are the owner and no declared column.
    """

    called: str
    node: Node
    columns: Mapping[str, tuple[str, Column]]
    owners: frozenset[str] = frozenset()
    people: str = ""
    identities: Mapping[str, Identity] | None = None
    owner_places: tuple[int, ...] = ()
    found: tuple[frozenset[str], Stored] | None = None  # after LEFT JOIN: the owner's names, and what is NULL without
    missing: frozenset[str] = frozenset()  # what the owner was called before an outer join, which may find no row
    either: tuple[frozenset[tuple[str, str]], ...] = ()  # after FULL JOIN: sets of owners of which every row has one

    @property
    def private(self) -> bool:
        return bool(self.people)

    @property
    def owner_name(self) -> str:
        """What the owner of a row is called, for advice; one that FULL JOIN left is written as it is."""
        name = min(self.owners, default="owner")
        return name if name.startswith("COALESCE(") else quoted(name)

    def is_owner(self, name: str) -> bool:
        return any(name.lower() == owner.lower() for owner in self.owners)

    def named(self, name: str) -> list[str]:
        """The columns of this name: in the same letters if there is one, else in any case."""
        return [name] if name in self.columns else self._by_lower_case.get(name.lower(), [])

    @cached_property
    def _by_lower_case(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.columns:
            found.setdefault(name.lower(), []).append(name)
        return found


@dataclass(frozen=True)
class Scope:
    """The relations whose columns can be named, those of the query around this one last."""

    relations: tuple[Relation, ...]
    source: Source
    around: Scope | None = None
    merged: frozenset[str] = frozenset()  # names of USING, in lower case: one column, whichever table it is taken from

    def find(self, node: exp.Column) -> tuple[str, Column]:
        """The column a name means: its name in the plan, and its declaration."""
        relation, name = self.place(node)
        return relation.columns[name]

    def place(self, node: exp.Column) -> tuple[Relation, str]:
        """The relation that a column belongs to, and its name there."""
        among, wanted = self._qualified(node), node.name
        found = [(relation, name) for relation in among for name in relation.named(wanted)]
        if len(found) == 1 or (found and wanted.lower() in self.merged and not node.table):
            return found[0]
        known = f"Declared are: {listed(dict.fromkeys(name for relation in among for name in relation.columns))}."
        if len(found) > 1:
            if len({relation.called for relation, _ in found}) == 1:
                names = ", ".join(name for _, name in found)
                raise self.source.refusal(node, f"{wanted!r} could be any of {names}.", "Write its exact case.")
            of = " or ".join(f"{quoted(relation.called)}.{quoted(name)}" for relation, name in found[:3])
            raise self.source.refusal(node, f"{wanted!r} is a column of several tables.", f"Write {of}.")
        if any(relation.is_owner(wanted) for relation in among):
            hint = f"Count owners with COUNT(DISTINCT {quoted(wanted)}), or declare it as a column. {known}"
            raise self.source.refusal(node, f"{wanted!r} is the owner of a row, not a declared column.", hint)
        if self.around is not None and (not node.table or not self._called(node.table)):
            return self.around.place(node)
        if any(relation.is_owner(wanted) for relation in self.relations):
            called = quoted(node.table)
            hint = f"To count the rows of {called} that were found, count a column of it that is never NULL. {known}"
            raise self.source.refusal(node, f"{wanted!r} is the owner, not a declared column of {called}.", hint)
        declared = [name for relation in among for name in relation.columns]
        hint = alias_hint(node) or " ".join(filter(None, (text_hint(node), meant(wanted, declared), known)))
        of = f"table {among[0].called!r}" if len(among) == 1 else "any table of FROM"
        raise self.source.refusal(node, f"there is no column {wanted!r} in {of}.", hint)

    def declared_as(self, name: str) -> list[str]:
        """The columns of this name in any case."""
        return [found for relation in self.relations for found in relation.named(name)]

    def is_owner(self, node: exp.Expr) -> bool:
        """Whether a name means the owner of a row of this query."""
        return isinstance(node, exp.Column) and self.owner_of(node) is not None

    def found(self, node: exp.Expr) -> Stored | None:
        """What is NULL exactly where LEFT JOIN found no row, if this names the owner of a relation joined so."""
        relation = self.found_in(node)
        return None if relation is None or relation.found is None else relation.found[1]

    def found_in(self, node: exp.Expr) -> Relation | None:
        """The relation of which this names the owner, if a join may find no row of it."""
        for relation in self._called(node.table) if isinstance(node, exp.Column) and node.table else ():
            if relation.found is not None and node.name.lower() in {name.lower() for name in relation.found[0]}:
                return None if relation.named(node.name) else relation
        return None

    def owner_of(self, node: exp.Column) -> Relation | None:
        """The relation whose owner a name means."""
        among = [relation for relation in self.relations if not node.table or _same(relation.called, node.table)]
        return next((relation for relation in among if relation.private and relation.is_owner(node.name)), None)

    @property
    def owner_name(self) -> str:
        """What the owner of a row is called, for advice."""
        return next((relation.owner_name for relation in self.relations if relation.owners), "owner")

    def _called(self, name: str) -> list[Relation]:
        return [relation for relation in self.relations if _same(relation.called, name)]

    def _qualified(self, node: exp.Column) -> Sequence[Relation]:
        if not node.table:
            return self.relations
        found = self._called(node.table)
        if found:
            return found
        if self.around is not None:
            return ()
        known = self.relations[0].called
        hint = f"Write {quoted(known)}.{quoted(node.name)}."
        raise self.source.refusal(node, f"{node.table!r} is not in FROM.", hint)


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def text_hint(node: exp.Column) -> str:
    """What to say where a name stands as a value and was perhaps meant as text; nothing elsewhere."""
    around, value = node.parent, node.name[:40].replace("'", "''")
    in_list = isinstance(around, exp.In) and around.this is not node
    beside = isinstance(around, (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like))
    as_value = in_list or (beside and (node.this.args.get("quoted") or node.arg_key == "expression"))
    return f"Text goes in single quotes: '{value}'." if as_value else ""


def alias_hint(node: exp.Column) -> str:
    """What to say where a name is an alias of the same SELECT, and stands where aliases are not known; else nothing."""
    select = node.parent_select
    items = [] if select is None or node.table else [item for item in select.expressions if isinstance(item, exp.Alias)]
    meant_item = next((item.this for item in items if item.alias.lower() == node.name.lower()), None)
    if meant_item is None or any(inner is node for inner in subtree(meant_item)):
        return ""
    known = f"{node.name[:40]!r} is an alias of SELECT, which WHERE, ON and aggregates do not know."
    if node.find_ancestor(exp.Where) is not None and meant_item.find(exp.AggFunc) is not None:
        return f"{known} Conditions on aggregates stand in HAVING."
    return f"{known} Write what it stands for, or name it in a derived table: FROM (SELECT ... AS name ...)."
