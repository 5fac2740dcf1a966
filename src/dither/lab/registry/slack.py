"""Examples that no ten million samples can be expected to show spending 95 per cent of their claim: how much, and why.

Every number here is worked out again in the tests, from the distributions or from a proof, never from what an audit
happened to see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Loose:
    """At most this share of a claim, rounded up, and what it is a share of."""

    most: float
    of: str
    why: str

    def __str__(self) -> str:
        return f"{self.why}: {self.of} at most {self.most:.3f} of it"


def looseness(name: str, place: int) -> Loose | None:
    """Why this example of a mechanism is not held to 95 per cent of its claim; None if it is."""
    return _LOOSE.get(name, {}).get(place)


def _spends(most: float, why: str) -> Loose:
    """The distributions of any two neighbours differ by less than the claim."""
    return Loose(most, "neighbours spend", why)


def _shows(most: float, why: str) -> Loose:
    """Some neighbours spend all of the claim, but ten million samples a side, all of them certifying, show less."""
    return Loose(most, "ten million samples show", why)


_SMALL = "five per cent of so small an epsilon are less than the sampling error"
_RARE = "the claim is spent on rare events"
_HALVES = "half of delta pays for the noise and half for keys of one owner, and no neighbours need both halves"
_LEVELS = "a record that moves the first choice most is on the side where nothing is chosen afterwards"
_BOUND = "calibrated by a general bound"
_SEVERAL = {0: _spends(0.874, _LEVELS), 1: _spends(0.778, _LEVELS), 2: _spends(0.874, _LEVELS)}

# By mechanism, then by example.
_LOOSE: Mapping[str, Mapping[int, Loose]] = {
    "Exponential": {2: _shows(0.918, _SMALL)},
    "SparseVector": {1: _shows(0.915, _RARE), 2: _shows(0.925, _RARE)},
    "KeySelection": {4: _spends(0.918, _HALVES), 7: _spends(0.918, _HALVES)},
    "Quantile": {2: _shows(0.941, _SMALL)},
    "Quantiles": _SEVERAL,
    "ListedQuantiles": _SEVERAL,
    "SmoothCauchy": {1: _shows(0.903, _SMALL), 2: _spends(0.849, _BOUND), 3: _spends(0.227, _BOUND)},
    "SmoothLaplace": {0: _shows(0.809, _RARE), 1: _shows(0.956, _RARE), 2: _spends(0.807, _BOUND)},
    "SmoothGaussian": {0: _shows(0.661, _RARE), 1: _shows(0.852, _RARE), 2: _spends(0.406, _BOUND)},
    "SmoothLaplaceLogNormal": {0: _spends(0.361, _BOUND), 1: _spends(0.482, _BOUND)},
}
