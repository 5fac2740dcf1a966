"""Several guarantees about the same data, taken together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.rdp import RDP, additive_delta
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import dyadic_up
from dither.exact.parameters import Number, whole
from dither.neighbours import Relation, common_relation

if TYPE_CHECKING:
    from dither.accounting.pld.distribution import Reals
    from dither.accounting.pld.pld import PLD

_LONGEST_SUM = 1024
_SHARP = 1e-3
_MOST_SHOWN = 3


class Guaranteed(Protocol):
    """What states its guarantee: a mechanism, a release, an estimate; an answer says it in words, and in `privacy`."""

    @property
    def guarantee(self) -> Guarantee | str: ...


@dataclass(frozen=True, repr=False)
class Composition(Guarantee):
    """All parts together, each as often as its count says, also if later mechanisms are chosen from earlier answers.

    The parts are kept, so that a curve is converted once at the end; it is the lowest of the bounds valid for parts
    whose guarantees are fixed in advance. A running budget is a `Filter`, which does not re-convert.
    """

    parts: tuple[tuple[Guarantee, int], ...]
    relation: Relation

    def __repr__(self) -> str:
        """Equal parts counted together; of many kinds the first three."""
        kinds = [f"{count} × {guarantee!r}" for guarantee, count in self._distinct()]
        rest = [f"... {len(kinds) - _MOST_SHOWN} more kinds"] if len(kinds) > _MOST_SHOWN else []
        return f"Composition({', '.join(kinds[:_MOST_SHOWN] + rest)})"

    @property
    def epsilon(self) -> Fraction:
        """The sum of the epsilons, where all parts are pure; other parts have a curve instead."""
        if not all(isinstance(guarantee, PureDP) for guarantee, _ in self.parts):
            raise NoEpsilon(
                "this composition has no single epsilon, since not all of its parts are pure: read its curve with "
                ".epsilon_at(delta), or add up what was stated with .basic()."
            )
        return self.basic().epsilon

    def _epsilon_at(self, delta: Number) -> float:
        known = self._known_curve(delta=delta)
        return known[1] if known else min((whole.epsilon_at(delta) for whole in self._wholes()), default=math.inf)

    def _delta_at(self, epsilon: Number) -> float:
        known = self._known_curve(epsilon=epsilon)
        return known[1] if known else min((whole.delta_at(epsilon) for whole in self._wholes()), default=1.0)

    def _epsilons_at(self, deltas: Sequence[Fraction]) -> Sequence[float]:
        loss = self.privacy_loss() if self._distribution_says_all() else None
        return super()._epsilons_at(deltas) if loss is None else loss._epsilons_at(deltas)

    def _deltas_at(self, epsilons: Sequence[Fraction]) -> Sequence[float]:
        loss = self.privacy_loss() if self._distribution_says_all() else None
        return super()._deltas_at(epsilons) if loss is None else loss._deltas_at(epsilons)

    def bounds_at(self, *, epsilon: Number | None = None, delta: Number | None = None) -> tuple[float, float]:
        return self._known_curve(epsilon=epsilon, delta=delta) or super().bounds_at(epsilon=epsilon, delta=delta)

    def _known_curve(self, *, epsilon: Number | None = None, delta: Number | None = None) -> tuple[float, float] | None:
        """The bracket of the loss itself, if it says all and is read so sharply that no other way helps."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return None  # the part itself knows its curve best
        loss = self.privacy_loss() if self._distribution_says_all() else None
        if loss is None:
            return None
        low, high = loss.bounds_at(epsilon=epsilon, delta=delta)
        return (low, high) if high - low <= _SHARP * high else None

    def privacy_loss(self) -> PLD | None:
        """The sum of the parts' losses, if the distribution of each is known."""
        from dither.accounting.pld.pld import merge

        members = [(guarantee.privacy_loss(), count) for guarantee, count in self.parts]
        known = [(loss, count) for loss, count in members if loss is not None]
        return merge(known, self.relation) if len(known) == len(members) else None

    def _certain_loss(self) -> PLD:
        from dither.accounting.pld.pld import merge

        members = [(guarantee._certain_loss(), count) for guarantee, count in self.parts]
        return merge([(loss, count) for loss, count in members if loss is not None], self.relation)

    def log_moments(self, theta: Reals) -> Reals:
        total = np.zeros_like(theta)
        with np.errstate(over="ignore"):
            for guarantee, count in self._distinct():
                total = total + guarantee.log_moments(theta) * count
            return total * (1 + 2.0**-50 * (len(self.parts) + 1))

    def rdp(self) -> RDP:
        """The sum of the parts' Renyi curves."""
        delta = _total((additive_delta(guarantee), count) for guarantee, count in self.parts)
        return RDP(self.renyi, delta, self.relation, log_moments=self.log_moments)

    def zcdp(self) -> ZCDP:
        members = [(guarantee.zcdp(), count) for guarantee, count in self.parts]
        rho = _total((member.rho, count) for member, count in members)
        delta = _total((member.delta, count) for member, count in members)
        return ZCDP(rho, delta, self.relation, proven_mu_squared=self.gaussian_mu_squared)

    def basic(self) -> PureDP | ApproxDP:
        """The sums of the stated epsilons and deltas."""
        members = [(guarantee.basic(), count) for guarantee, count in self.parts]
        epsilon = _total((member.epsilon, count) for member, count in members)
        delta = _total((member.delta, count) for member, count in members)
        return ApproxDP(epsilon, delta, relation=self.relation) if delta else PureDP(epsilon, self.relation)

    @property
    def gaussian_mu_squared(self) -> Fraction | None:
        """Gaussian DP composes exactly: squares add (Dong, Roth and Su 2022, Corollary 3.3)."""
        members = [(guarantee.gaussian_mu_squared, count) for guarantee, count in self.parts]
        known = [(mu_squared, count) for mu_squared, count in members if mu_squared is not None]
        return _total(known) if len(known) == len(members) else None

    def _wholes(self) -> list[Guarantee]:
        """The composition as one guarantee, in each way that exists."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return [self.parts[0][0]]
        found: list[Guarantee] = []
        # Moments follow from the distribution of the loss; they help only where more was proven than it shows.
        ways = (
            (self.privacy_loss, self.basic)
            if self._distribution_says_all()
            else (self.privacy_loss, self.rdp, self.basic)
        )
        for way in ways:
            try:
                whole = way()
            except ParameterError:  # no stated epsilon, or deltas that add up to 1: this way is closed
                continue
            if whole is not None:
                found.append(whole)
        return found

    def _distribution_says_all(self) -> bool:
        return all(guarantee._distribution_says_all() for guarantee, _ in self.parts)

    def _distinct(self) -> list[tuple[Guarantee, int]]:
        """Equal parts counted together; equal in all that is stated *and* proven, also in what == leaves out."""
        counts: dict[tuple[object, ...], tuple[Guarantee, int]] = {}
        for guarantee, count in self.parts:
            key = (type(guarantee), *_everything(guarantee))
            counts[key] = (guarantee, counts.get(key, (guarantee, 0))[1] + count)
        return list(counts.values())


class NoEpsilon(ParameterError, AttributeError):
    """A composition that is not pure was asked for its epsilon."""

    code, fields = "epsilon_missing", ()


def compose(guarantees: Iterable[Guarantee | Guaranteed]) -> Composition:
    """The guarantee of releasing all of them; refuses guarantees under different neighbour relations.

    Mechanisms, releases, estimates and answers stand for their guarantees, each for one release.

    >>> compose([PureDP("0.1"), PureDP("0.2"), PureDP("0.3")]).epsilon
    Fraction(3, 5)
    """
    return _merge([(_guarantee_of(each), 1) for each in guarantees])


def repeat(guarantee: Guarantee, count: int) -> Composition:
    """`guarantee * count`; none at all (count 0) promises everything: epsilon 0 and delta 0."""
    return _merge([(guarantee, whole(count, "the number of repetitions", least=0))])


def _merge(parts: list[tuple[Guarantee, int]]) -> Composition:
    for guarantee, _ in parts:
        if not isinstance(guarantee, Guarantee):
            raise ParameterError(
                "only guarantees compose, and what has one: mechanisms, releases, estimates and answers; "
                f"got {type(guarantee).__name__}."
            )
    relation = common_relation(guarantee for guarantee, _ in parts)
    flat: list[tuple[Guarantee, int]] = []
    for guarantee, count in parts:
        # Always flat: a composition inside a composition would hide what is proven about its parts.
        inner = guarantee.parts if isinstance(guarantee, Composition) else ((guarantee, 1),)
        flat += [(part, times * count) for part, times in inner if count]
    return Composition(tuple(flat), relation)


def _guarantee_of(each: Any) -> Any:
    """Itself, or what it states; anything else is refused where parts are merged."""
    if isinstance(each, Guarantee):
        return each
    return each.privacy if hasattr(type(each), "privacy") else getattr(each, "guarantee", each)


def _everything(guarantee: Guarantee) -> Iterator[object]:
    if not is_dataclass(guarantee):
        yield id(guarantee)
        return
    for each in fields(guarantee):
        yield getattr(guarantee, each.name)


def _total(amounts: Iterable[tuple[Fraction, int]]) -> Fraction:
    """The only place where an amount is multiplied by how often it is spent."""
    total = sum((amount * count for amount, count in amounts), Fraction(0))
    # Many different denominators make a sum of absurd length; past that point it is rounded up.
    return total if total.denominator.bit_length() <= _LONGEST_SUM else dyadic_up(total, _LONGEST_SUM)
