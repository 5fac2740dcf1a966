"""Reading the event trees of dp-accounting: what was done to the data, as a guarantee. Nothing of it is imported."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dither.accounting.composition.composition import compose
from dither.accounting.composition.subsampling import subsample
from dither.accounting.guarantees.gdp import GDP
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.rdp import RDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import float_up
from dither.exact.parameters import exact, non_negative, positive, sqrt_down, whole
from dither.neighbours import Relation

_DEEPEST = 100
_LARGEST_LAPLACE = 500


def from_event(event: Any, relation: Relation | str = Relation.ADD_REMOVE) -> Guarantee:
    """The guarantee of a DpEvent: the object itself, its named tuple, or a mapping (or JSON) with `class_name`.

    Classes are known by their names. A float means its shortest decimal form. Under replace noise counts with half its
    multiplier, since a replaced record moves a sum by two norms. What has no guarantee here is refused: non-private and
    unsupported events, randomised response unless under replace, samples of a fixed size unless under replace.

    >>> tree = {"class_name": "SelfComposedDpEvent", "count": 100, "event": {
    ...     "class_name": "PoissonSampledDpEvent", "sampling_probability": 0.01, "event": {
    ...         "class_name": "GaussianDpEvent", "noise_multiplier": 1.1}}}
    >>> round(from_event(tree).epsilon_at("1e-6"), 3)
    0.708
    """
    read = json.loads(event) if isinstance(event, (str, bytes)) else event
    return _Reader(Relation.read(relation)).read(read, 0)


class _Reader:
    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        # A noise multiplier is about the norm of one record's values; a replaced record moves their sum by two of them.
        self.moves = 2 if relation is Relation.REPLACE else 1

    def read(self, event: Any, depth: int) -> Guarantee:
        if depth > _DEEPEST:
            raise ParameterError(f"an event tree is at most {_DEEPEST} events deep.")
        name = _field(event, "class_name", type(event).__name__)
        rule = _RULES.get(str(name))
        if rule is None:
            raise ParameterError(
                f"there is no guarantee for the event {str(name)[:80]}; known are {', '.join(_RULES)}."
            )
        return rule(self, event, depth)

    def nothing(self, event: Any, depth: int) -> Guarantee:
        return PureDP(0, self.relation)

    def gaussian(self, event: Any, depth: int) -> Guarantee:
        noise = positive(_field(event, "noise_multiplier"), "noise_multiplier")
        return GDP(mu_squared=(self.moves / noise) ** 2, relation=self.relation)

    def laplace(self, event: Any, depth: int) -> Guarantee:
        from dither.accounting.pld.pld import PLD

        return PLD.laplace(self.moves / positive(_field(event, "noise_multiplier"), "noise_multiplier"), self.relation)

    def discrete_laplace(self, event: Any, depth: int) -> Guarantee:
        from dither.accounting.pld.pld import PLD

        steps = self.moves * whole(_field(event, "sensitivity"), "sensitivity")
        each = positive(_field(event, "noise_parameter"), "noise_parameter")
        return PLD.discrete_laplace(each * steps, steps, self.relation)

    def response(self, event: Any, depth: int) -> Guarantee:
        """The truth with probability 1 - p + p/k, any other value with p/k."""
        from dither.accounting.pld.pld import PLD

        wrong, many = (
            positive(_field(event, "noise_parameter"), "noise_parameter"),
            whole(_field(event, "num_buckets"), "num_buckets"),
        )
        if self.relation is not Relation.REPLACE:
            raise ParameterError('a randomised response is about a changed answer: give relation="replace".')
        if not wrong <= 1:
            raise ParameterError("noise_parameter of a randomised response is a probability.")
        if many == 1 or wrong == 1:
            return PureDP(0, self.relation)
        truth, other = 1 - wrong + wrong / many, wrong / many
        rest = [1 - truth - other] if many > 2 else []
        return PLD.from_pmf([truth, other, *rest], [other, truth, *rest], self.relation)

    def zcdp(self, event: Any, depth: int) -> Guarantee:
        rho, xi = non_negative(_field(event, "rho"), "rho"), non_negative(_field(event, "xi", 0), "xi")
        if not xi:
            return ZCDP(rho, relation=self.relation)
        return RDP(lambda order: float_up(xi + rho * Fraction(order)), relation=self.relation)

    def repeated(self, event: Any, depth: int) -> Guarantee:
        return self.read(_field(event, "event"), depth + 1) * whole(_field(event, "count"), "count", least=0)

    def composed(self, event: Any, depth: int) -> Guarantee:
        parts = _field(event, "events")
        if isinstance(parts, (str, bytes, Mapping)):
            raise ParameterError("the events of a ComposedDpEvent are a list.")
        nothing = self.nothing(event, depth)
        found = [self.read(part, depth + 1) for part in parts]
        return compose([part for part in found if part != nothing] or [nothing])

    def poisson_sampled(self, event: Any, depth: int) -> Guarantee:
        chance, inner = exact(_field(event, "sampling_probability"), "sampling_probability"), _field(event, "event")
        if not 0 <= chance <= 1:
            raise ParameterError("sampling_probability is a probability.")
        found = self.read(inner, depth + 1)
        if chance in (0, 1):
            return found if chance else self.nothing(event, depth)
        return self._on_a_sample(found, chance) or subsample(found, chance)

    def _on_a_sample(self, found: Guarantee, chance: Fraction) -> Guarantee | None:
        """Gaussian and Laplace noise by the loss of its mixture, which is the same for both ways of sampling."""
        from dither.accounting.pld.closed_forms import ContinuousLaplace
        from dither.accounting.pld.pld import PLD

        square = found.gaussian_mu_squared
        if square:  # several Gaussians on one sample are one of less noise
            return PLD.subsampled_gaussian(sqrt_down(1 / square), chance, self.relation)
        if isinstance(found, PLD) and len(found.distributions) == 1 and not found.mu_squared:
            distribution, count = found.distributions[0]
            if isinstance(distribution, ContinuousLaplace) and count == 1 and distribution.epsilon <= _LARGEST_LAPLACE:
                return PLD.subsampled_laplace(distribution.epsilon, chance, self.relation)
        return None

    def sampled_without_replacement(self, event: Any, depth: int) -> Guarantee:
        size, many = (whole(_field(event, name), name) for name in ("source_dataset_size", "sample_size"))
        if many > size:
            raise ParameterError("sample_size is at most source_dataset_size.")
        found = self.read(_field(event, "event"), depth + 1)
        rate = Fraction(many, size)
        if self.relation is Relation.REPLACE and rate < 1:
            return self._on_a_sample(found, rate) or subsample(found, rate, replacement=False)
        return subsample(found, rate, replacement=False)


_RULES: dict[str, Callable[[_Reader, Any, int], Guarantee]] = {
    "NoOpDpEvent": _Reader.nothing,
    "GaussianDpEvent": _Reader.gaussian,
    "LaplaceDpEvent": _Reader.laplace,
    "DiscreteLaplaceDpEvent": _Reader.discrete_laplace,
    "RandomizedResponseDpEvent": _Reader.response,
    "ZCDpEvent": _Reader.zcdp,
    "SelfComposedDpEvent": _Reader.repeated,
    "ComposedDpEvent": _Reader.composed,
    "PoissonSampledDpEvent": _Reader.poisson_sampled,
    "SampledWithoutReplacementDpEvent": _Reader.sampled_without_replacement,
}
_MISSING = object()


def _field(event: Any, name: str, default: Any = _MISSING) -> Any:
    found = event.get(name, default) if isinstance(event, Mapping) else getattr(event, name, default)
    if found is _MISSING:
        raise ParameterError(f"the event {type(event).__name__} has no {name}.")
    return found
