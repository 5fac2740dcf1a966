"""From what a mechanism published to the result that all one-call statistics share."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.mechanisms.release import Release
from dither.mechanisms.smooth.smooth_noise import SmoothOutcome
from dither.mechanisms.stability.bounded_local_sensitivity import BoundedOutcome
from dither.stats.estimate import Estimate, plain

_HIDDEN = "the noise follows the smooth sensitivity of this graph, which is private; another method= has an interval."


@dataclass(frozen=True, eq=False, repr=False)
class BoundedEstimate(Estimate):
    """An estimate beside which a private bound on the local sensitivity was published; its noise is made for it."""

    bound: Fraction = Fraction(0)


def with_interval(release: Release) -> Estimate:
    """Noise of a public scale."""
    return Estimate(*_head(release, "global"), _bounds(release), scale_=release.scale)


def without_interval(outcome: SmoothOutcome) -> Estimate:
    """Noise whose scale follows the data."""
    return Estimate(*_head(outcome, "smooth"), hidden=_HIDDEN)


def with_bound(outcome: BoundedOutcome) -> BoundedEstimate:
    """Noise whose scale follows the published bound."""
    return BoundedEstimate(*_head(outcome, "bounded"), _bounds(outcome), scale_=outcome.scale, bound=outcome.bound)


def _head(published: Release | SmoothOutcome | BoundedOutcome, method: str) -> tuple[Any, Any, str, Any]:
    return plain(published.value), published.guarantee, method, published.value


def _bounds(published: Release | BoundedOutcome) -> Any:
    def ends(confidence: Fraction) -> tuple[Any, Any]:
        low, high = published.interval(confidence)
        return plain(low), plain(high)

    return ends
