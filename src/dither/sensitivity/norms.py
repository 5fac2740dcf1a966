"""How far a statistic can move between neighbours, in the three norms, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.errors import ParameterError, RelationMismatch
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, exact, positive, sqrt_up
from dither.neighbours import Relation


@dataclass(frozen=True, init=False, repr=False)
class Sensitivity(Frozen):
    """Upper bounds on ||f(D) - f(D')|| over all neighbours: L1, L2 (kept as its exact square) and Linf.

    >>> Sensitivity(25, 25, 1).l2
    Fraction(5, 1)
    """

    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    relation: Relation

    def __init__(
        self, l1: Number, l2_squared: Number, linf: Number, relation: Relation | str = Relation.ADD_REMOVE
    ) -> None:
        self._keep(
            l1=positive(l1, "the L1 sensitivity"),
            l2_squared=positive(l2_squared, "the squared L2 sensitivity"),
            linf=positive(linf, "the Linf sensitivity"),
            relation=Relation.read(relation),
        )
        if not self.linf**2 <= self.l2_squared <= self.l1**2:
            raise ParameterError("the norms must satisfy Linf <= L2 <= L1; check which number is which.")

    @classmethod
    def scalar(cls, moved: Number, relation: Relation | str) -> Sensitivity:
        """Of one number: the same in every norm."""
        read = exact(moved, "the sensitivity")
        return cls(read, read**2, read, relation)

    @property
    def l2(self) -> Fraction:
        """The L2 sensitivity, rounded up (exact when the root is a short number)."""
        return sqrt_up(self.l2_squared)


def row_relation(relation: Relation | str) -> Relation:
    """add_remove or replace; for owners a bound on contributions must come first, graphs have their own statistics."""
    read = Relation.read(relation)
    if read not in (Relation.ADD_REMOVE, Relation.REPLACE):
        raise RelationMismatch(
            f"this sensitivity is known for add_remove and replace; got {read.value}. "
            "For several rows per owner, bound what one owner contributes and state that bound."
        )
    return read


def only(relation: Relation | str, known: Relation, instead: str) -> Relation:
    """The one relation under which a sensitivity is known."""
    read = Relation.read(relation)
    if read is not known:
        raise RelationMismatch(f"this sensitivity is known for {known.value} only; got {read.value}. {instead}")
    return read
