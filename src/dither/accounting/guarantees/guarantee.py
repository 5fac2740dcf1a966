"""What every guarantee can say: its relation, its curve, and itself in the two currencies that add up."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, overload

from dither.errors import ParameterError
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, non_negative
from dither.neighbours import Relation

if TYPE_CHECKING:
    import numpy.typing as npt

    from dither.accounting.composition.composition import Composition
    from dither.accounting.guarantees.approx import ApproxDP
    from dither.accounting.guarantees.pure import PureDP
    from dither.accounting.guarantees.zcdp import ZCDP
    from dither.accounting.pld.distribution import Reals
    from dither.accounting.pld.pld import PLD

    Many = list[Any] | tuple[Any, ...] | npt.NDArray[Any]


def read_order(order: float) -> float:
    """An order of a Renyi divergence: a finite number greater than 1."""
    if isinstance(order, bool) or not 1 < order < math.inf or not float(order) > 1:
        raise ParameterError(f"an order must be a finite number greater than 1; got {order}.")
    return float(order)


def read_delta(value: Number) -> Fraction:
    """A delta at which a curve is read: 0 included, 1 not."""
    delta = non_negative(value, "delta")
    if not delta < 1:
        raise ParameterError(f"delta must be at least 0 and less than 1; got {float(delta):g}.")
    return delta


def _array(values: Sequence[float]) -> Reals:
    import numpy as np

    return np.array(values, dtype=np.float64)


class Guarantee(Frozen, ABC):
    """A proven bound on how much the output distribution can differ between two neighbours."""

    relation: Relation
    theory: ClassVar[Theory]

    @overload
    def epsilon_at(self, delta: Number) -> float: ...
    @overload
    def epsilon_at(self, delta: Many) -> Reals: ...
    def epsilon_at(self, delta: Number | Many) -> float | Reals:
        """An epsilon, rounded up, such that (epsilon, delta)-DP holds; infinity if this guarantee knows none.

        For a list or an array of deltas an array, by one evaluation as far as possible.
        """
        if isinstance(delta, str) or not isinstance(delta, Iterable):
            return self._epsilon_at(delta)
        return _array(self._epsilons_at([read_delta(value) for value in delta]))

    @overload
    def delta_at(self, epsilon: Number) -> float: ...
    @overload
    def delta_at(self, epsilon: Many) -> Reals: ...
    def delta_at(self, epsilon: Number | Many) -> float | Reals:
        """A delta, rounded up, such that (epsilon, delta)-DP holds; at most 1. Of many epsilons an array, as above."""
        if isinstance(epsilon, str) or not isinstance(epsilon, Iterable):
            return self._delta_at(epsilon)
        return _array(self._deltas_at([non_negative(value, "epsilon") for value in epsilon]))

    @abstractmethod
    def _epsilon_at(self, delta: Number) -> float: ...

    @abstractmethod
    def _delta_at(self, epsilon: Number) -> float: ...

    def _epsilons_at(self, deltas: Sequence[Fraction]) -> Sequence[float]:
        return [self._epsilon_at(delta) for delta in deltas]

    def _deltas_at(self, epsilons: Sequence[Fraction]) -> Sequence[float]:
        return [self._delta_at(epsilon) for epsilon in epsilons]

    @abstractmethod
    def zcdp(self) -> ZCDP:
        """The (approximate) zero-concentrated DP that follows, rho rounded up: what a rho budget is charged."""

    @abstractmethod
    def basic(self) -> PureDP | ApproxDP:
        """The stated epsilon and delta: what a budget whose epsilons add up is charged; refused if none was stated."""

    @property
    def gaussian_mu_squared(self) -> Fraction | None:
        """mu^2 if the mechanism is proven mu-Gaussian DP: then curves are those of N(0,1) against N(mu,1)."""
        return None

    def privacy_loss(self) -> PLD | None:
        """The distribution of the worst privacy loss under this guarantee, None where no single one is the worst."""
        return self.theory.privacy_loss(self)

    def bounds_at(self, *, epsilon: Number | None = None, delta: Number | None = None) -> tuple[float, float]:
        """Certified lower and upper bounds of delta at `epsilon`, or of epsilon at `delta`.

        Between them lies the exact figure for the worst mechanism with this guarantee. The lower bound is that of a
        mechanism known to have the guarantee: the worst one where a distribution of the loss is known; randomised
        response or Gaussian noise with the same rho where only a rho is; and 0 for a Renyi curve, of which nothing is.
        """
        if (epsilon is None) == (delta is None):
            raise ParameterError("read the curve at epsilon= or at delta=, one of them.")
        stated = self.epsilon_at(delta) if delta is not None else self.delta_at(epsilon)  # type: ignore[arg-type]
        loss = self._certain_loss()
        if loss is None:
            return 0.0, stated
        low, high = loss.bounds_at(epsilon=epsilon, delta=delta)
        # Only the distribution of the worst loss bounds from above as well.
        return min(low, stated), min(stated, high) if self._distribution_says_all() else stated

    def _certain_loss(self) -> PLD | None:
        """A loss that some mechanism with this guarantee has: what lower bounds rest on; None where none is known."""
        return self.theory.certain_loss(self)

    def _distribution_says_all(self) -> bool:
        """Whether nothing sharper is proven about the mechanism than the distribution of its loss."""
        return self.theory.distribution_says_all(self)

    def renyi(self, order: float) -> float:
        """A bound, rounded up, of the Renyi divergence of an order > 1, apart from the additive delta."""
        import numpy as np

        theta = np.array([read_order(order) - 1])
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(np.nextafter(self.log_moments(theta)[0] / theta[0], np.inf))
        return value if value >= 0 else np.inf if np.isnan(value) else 0.0

    def log_moments(self, theta: Reals) -> Reals:
        """theta times the Renyi bound of order 1 + theta, for each theta > 0."""
        return self.theory.log_moments(self, theta)

    def tradeoff(self, alpha: Number) -> float:
        """At least the type II error, rounded down, of every test for a record with type I error `alpha`."""
        return self.theory.tradeoff(self, alpha)

    def plot(self) -> Any:
        """An altair chart of the trade-off function."""
        from dither.plot.tradeoffs import tradeoffs

        return tradeoffs("What a test can tell", f"{self!r}: how often it must miss", {repr(self): self.tradeoff})

    def __mul__(self, count: int) -> Composition:
        """This guarantee `count` times over."""
        return self.theory.repeat(self, count)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Theory:
    """What is proven about guarantees of every kind, in files that know them all.

    `dither.accounting` names those files once, as `Guarantee.theory`, so that no kind imports what is built on it.
    """

    privacy_loss: Callable[[Guarantee], PLD | None]
    certain_loss: Callable[[Guarantee], PLD | None]
    distribution_says_all: Callable[[Guarantee], bool]
    log_moments: Callable[[Guarantee, Reals], Reals]
    repeat: Callable[[Guarantee, int], Composition]
    tradeoff: Callable[[Guarantee, Number], float]
