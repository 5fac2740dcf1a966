"""The sensitivity that a mechanism is given: a number, or one that knows its norms and its relation."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, Protocol, runtime_checkable

from dither.errors import ParameterError, RelationMismatch
from dither.exact.parameters import Number, positive
from dither.neighbours import Relation


@runtime_checkable
class Norms(Protocol):
    """A sensitivity that knows its norms and the relation it was worked out for."""

    @property
    def l1(self) -> Fraction: ...
    @property
    def l2(self) -> Fraction: ...
    @property
    def linf(self) -> Fraction: ...
    @property
    def relation(self) -> Relation: ...


def read_sensitivity(
    sensitivity: Number | Norms, norm: Literal["l1", "l2", "linf"], relation: Relation | str | None
) -> tuple[Fraction, Relation]:
    """The bound in the norm that counts, and its relation: add_remove unless another one is stated or known."""
    if not isinstance(sensitivity, Norms):
        return positive(sensitivity, "sensitivity"), read_relation(relation)
    if relation is not None and Relation.read(relation) is not sensitivity.relation:
        raise RelationMismatch(
            f"the sensitivity holds under {sensitivity.relation.value}, not under {Relation.read(relation).value}."
        )
    return {"l1": sensitivity.l1, "l2": sensitivity.l2, "linf": sensitivity.linf}[norm], sensitivity.relation


def read_relation(relation: Relation | str | None, default: Relation = Relation.ADD_REMOVE) -> Relation:
    """The stated relation, or the usual one."""
    return default if relation is None else Relation.read(relation)


def check_steps(steps: int) -> None:
    """Refuse a grid on which two values within the sensitivity are the same."""
    if not steps >= 1:
        raise ParameterError(
            "the grid is coarser than the sensitivity, so values on it could not differ; give a smaller grid=."
        )
