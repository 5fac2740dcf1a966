"""What a mechanism that is not plain addition of noise publishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Protocol

from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import NotPublic
from dither.escape import markup
from dither.exact.parameters import Number, probability
from dither.exact.short_forms import figure, stated_price


class HasGuarantee(Protocol):
    @property
    def guarantee(self) -> Guarantee: ...


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """What `release` returns: the published value and its guarantee. Reading it costs nothing more."""

    value: Any
    mechanism: HasGuarantee

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    def __repr__(self) -> str:
        kind = type(self.mechanism).__name__
        return f"{kind} release {figure(self.value)}, {stated_price(self.guarantee)}"

    def _repr_html_(self) -> str:
        return f"<span>{markup(repr(self))}</span>"

    def plot(self, confidence: Number = "0.95") -> Any:
        """An altair chart of what was published, with its interval where one is public. It costs nothing more."""
        from dither.mechanisms.pictures.outcomes import plot_published

        return plot_published(type(self.mechanism).__name__, self, probability(confidence, "confidence"))


class HiddenOutcome(Outcome):
    """An answer whose error follows the data: its scale and interval are not public."""

    _why: ClassVar[str]

    @property
    def scale(self) -> NoReturn:
        raise NotPublic(f"this answer has no public scale: {self._why}")

    def interval(self, *_: object, **__: object) -> NoReturn:
        """Not public."""
        raise NotPublic(f"this answer has no public interval: {self._why}")


class GuardedOutcome(HiddenOutcome):
    """An answer, or REFUSED, after a private test of the data: how close the test was is not public."""

    _why = "it was published after a test of the data, and either would say more than was paid for."
