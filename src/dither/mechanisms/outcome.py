"""What a mechanism that is not plain addition of noise publishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from dither.accounting.guarantee import Guarantee
from dither.errors import NotPublic


class HasGuarantee(Protocol):
    @property
    def guarantee(self) -> Guarantee: ...


@dataclass(frozen=True, eq=False)
class Outcome:
    """What `release` returns: the published value and its guarantee. Reading it costs nothing more."""

    value: Any
    mechanism: HasGuarantee

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee


@dataclass(frozen=True, eq=False)
class GuardedOutcome(Outcome):
    """An answer, or REFUSED, after a private test of the data: how close the test was is not public."""

    @property
    def scale(self) -> NoReturn:
        raise NotPublic(
            "an answer published after a test of the data has no public scale: it would say more than was paid for."
        )

    def interval(self, *_: object, **__: object) -> NoReturn:
        """Not public."""
        raise NotPublic(
            "an answer published after a test of the data has no public interval: its cover depends on the data."
        )
