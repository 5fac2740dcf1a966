"""What an exhibit is: something broken, its story, and the fixed twin that the same check lets pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from dither.accounting import Guarantee

Outputs = Any  # an array with one output a row; what each stands for is up to the exhibit
# data, size -> that many independent outputs
Sampler = Callable[[Any, int], Outputs]


class Remembering(Protocol):
    """A sampler that knows what it was asked before."""

    def __init__(self) -> None: ...

    def __call__(self, data: Any, size: int, /) -> Outputs: ...


@dataclass(frozen=True)
class Exhibit:
    """A broken mechanism, which the auditor must catch from its outputs on neighbours, and its fixed twin.

    Both claim the same guarantee. What they return is what an analyst looks at: any function of the answer, since a
    function of a private answer is as private. What remembers is a class, made anew for every look at it.
    """

    name: str
    story: str
    source: str
    broken: Sampler | type[Remembering]
    fixed: Sampler | type[Remembering]
    neighbours: tuple[tuple[Any, Any], ...]
    claimed: Guarantee
    samples: int = 200_000

    @property
    def measure(self) -> str:
        """What the figures of a row are."""
        return f"epsilon at delta {float(self.claimed.basic().delta):g}"


@dataclass(frozen=True)
class Finding:
    """A figure that is claimed, and one that is proven to be reached: caught when more is reached than claimed."""

    claimed: float
    found: float

    @property
    def caught(self) -> bool:
        return self.found > self.claimed


@dataclass(frozen=True)
class Reckoning:
    """A wrong figure (of an accountant, a sensitivity, a plan, a ledger), held against an oracle that computes it.

    The oracle is never the code that made the figure: enumeration of all neighbours, an exact divergence, a certified
    lower bound, the two answers themselves.
    """

    name: str
    story: str
    source: str
    measure: str
    broken: Callable[[], Finding]
    fixed: Callable[[], Finding]


AnyExhibit = Exhibit | Reckoning
