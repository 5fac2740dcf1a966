"""Mechanisms on disjoint parts of the data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, dyadic_up
from dither.exact.parameters import whole
from dither.neighbours import Relation, common_relation

By = Literal["value", "position"]


def parallel(
    guarantees: Sequence[Guarantee],
    *,
    by: By = "value",
    relation: Relation | str | None = None,
    private_under_both: bool = False,
    parts_per_owner: int | None = None,
) -> PureDP | ApproxDP | ZCDP:
    """The guarantee of mechanisms that each see one of several disjoint parts, fixed without looking at the data.

    | parts | relation of the result | cost |
    |---|---|---|
    | by value of a record | add_remove | the largest |
    | by value | owner, whose rows lie in at most c=parts_per_owner parts | the c largest together |
    | by value | replace, from guarantees under add_remove | twice the largest; rho 4 times, delta 1 + e^epsilon times |
    | by value | replace, each holding under add_remove *and* replace | the two largest together |
    | by position | replace | the largest |
    | by position | add_remove | refused: one deletion shifts every later row into another part |

    PureDP parts give PureDP, all others zCDP where each has a rho, otherwise the sums of stated epsilons and deltas.

    >>> parallel([PureDP("0.1"), PureDP("0.2"), PureDP("0.3")]).epsilon
    Fraction(3, 10)
    >>> parallel([PureDP("0.1"), PureDP("0.2"), PureDP("0.3")], relation="replace").epsilon
    Fraction(3, 5)
    """
    stated = common_relation(guarantees)
    wanted = stated if relation is None else Relation.read(relation)
    if by not in ("value", "position"):
        raise ParameterError(f'parts are by "value" or by "position"; got {by!r}.')
    many, converted = _rule(stated, wanted, by, private_under_both, parts_per_owner)
    if all(isinstance(guarantee, PureDP) for guarantee in guarantees):
        total = _largest([guarantee.basic().epsilon for guarantee in guarantees], many)
        return PureDP(total * (2 if converted else 1), wanted)
    try:
        members = [guarantee.zcdp() for guarantee in guarantees]
    except ParameterError:
        members = []
    if members and not any(member.delta for member in members):
        return ZCDP(_largest([member.rho for member in members], many) * (4 if converted else 1), relation=wanted)
    basics = [guarantee.basic() for guarantee in guarantees]
    epsilon, delta = (_largest([getattr(basic, name) for basic in basics], many) for name in ("epsilon", "delta"))
    if not converted:
        return ApproxDP(epsilon, delta, relation=wanted)
    _, grown = bounds(lambda: (1 + ball(epsilon).exp()) * ball(delta))
    return ApproxDP(2 * epsilon, dyadic_up(grown), relation=wanted)


def _rule(stated: Relation, wanted: Relation, by: By, both: bool, parts_per_owner: int | None) -> tuple[int, bool]:
    """How many of the largest costs add up, and whether add_remove is turned into replace."""
    if wanted is Relation.OWNER and stated is Relation.OWNER and by == "value":
        if parts_per_owner is None:
            raise ParameterError(
                "an owner's rows may lie in several parts: give parts_per_owner=, 1 if the parts split owners."
            )
        return whole(parts_per_owner, "parts_per_owner"), False
    if parts_per_owner is not None:
        raise ParameterError("parts_per_owner= belongs to parts by value under the owner relation.")
    if by == "position":
        if wanted is not Relation.REPLACE or stated is not Relation.REPLACE:
            raise ParameterError(
                "parts by position are parallel under replace only, with guarantees under replace: "
                "adding or deleting one row shifts every later row into another part."
            )
        return 1, False
    if wanted is Relation.ADD_REMOVE and stated is Relation.ADD_REMOVE:
        return 1, False
    if wanted is Relation.REPLACE and both and stated in (Relation.ADD_REMOVE, Relation.REPLACE):
        return 2, False
    if wanted is Relation.REPLACE and stated is Relation.ADD_REMOVE:
        return 1, True
    raise ParameterError(
        f"guarantees under {stated.value} on parts by {by} say nothing under {wanted.value}: a record that moves is "
        "lost by one part and gained by another. Give guarantees under add_remove, or private_under_both=True if each "
        "holds under add_remove and replace."
    )


def _largest(amounts: list[Fraction], many: int) -> Fraction:
    return sum(sorted(amounts, reverse=True)[:many], Fraction(0))
