"""Errors of quantile mechanisms from their laws, without sampling: what the scripts about quantiles share.

A law is listed as pieces: stretches of answers with a probability each, even within the stretch. Datasets are pooled: a
root mean square is over the errors of all of them, and a median error is the median of the mixture.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from dither.mechanisms import Quantile
from dither.mechanisms.quantiles.rank_choice import near_runs

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Pieces:
    """Errors (answer minus truth) from `low` to `high`, even in between, with probability `mass`."""

    low: Array
    high: Array
    mass: Array

    @property
    def rms(self) -> float:
        square = (self.low**2 + self.low * self.high + self.high**2) / 3
        return math.sqrt(float((self.mass * square).sum() / self.mass.sum()))

    @property
    def median(self) -> float:
        """The w for which half of all mass has an error of at most w."""
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        least, most = 0.0, float(np.maximum(np.abs(self.low), np.abs(self.high)).max())
        for _ in range(50):
            w = (least + most) / 2
            share = np.clip((np.minimum(self.high, w) - np.maximum(self.low, -w)) / width, 0, 1)
            # A piece of no width is an answer: inside or not.
            share = np.where(self.high == self.low, np.abs(self.low) <= w, share)
            inside = float((self.mass * share).sum() / self.mass.sum())
            least, most = (least, w) if inside >= 0.5 else (w, most)
        return most


def pooled(pieces: list[Pieces]) -> Pieces:
    return Pieces(*(np.concatenate([getattr(one, name) for one in pieces]) for name in ("low", "high", "mass")))


def truth_of(x: Array, q: float) -> float:
    return float(np.sort(x)[math.ceil(round(q * x.size, 9)) - 1])


def exponential_pieces(x: Array, mechanism: Quantile, truth: float, *, even: bool = False) -> Pieces:
    """The law of `Quantile` on these records, with its public weights or with even ones."""
    ranked, grid = mechanism._read(x), mechanism.grid
    rank = mechanism.q * ranked.size
    runs = near_runs(ranked, grid, mechanism.bands, rank, ranked.size)
    target = float(rank)
    apart = np.maximum(0, np.maximum(runs.below - target, target - runs.upto))
    weights = runs.widths * np.exp(-float(mechanism.rate) * apart)
    if not even:
        weights = np.ldexp(weights, runs.doublings)
    step = float(grid.step)
    low, high = runs.starts * step - truth, (runs.starts + runs.widths - 1) * step - truth
    mass = weights / weights.sum()
    felt = mass > 1e-30
    return Pieces(low[felt], high[felt], mass[felt])


# Of the probabilities of a noise's pieces: fine in the middle, and finer and finer in both tails.
TAIL = np.geomspace(1e-15, 1e-2, 200)
PLACES = np.concatenate([TAIL, np.linspace(1e-2, 0.5, 300)[1:]])


def noise_edges(upper_tail: Callable[[Array], Array]) -> Array:
    """The values that a symmetric noise exceeds with these probabilities, from the far left to the far right."""
    edges = upper_tail(PLACES)
    return np.concatenate([-edges, edges[-2::-1]])


def noise_pieces(edges: Array, centre: float, scale: float, ends: tuple[float, float]) -> Pieces:
    """Errors of centre + scale times noise, clamped to the ends."""
    moved = np.clip(centre + scale * edges, *ends) - centre
    mass = np.diff(np.concatenate([PLACES, 1 - PLACES[-2::-1]]))
    return Pieces(moved[:-1], moved[1:], mass / mass.sum())


def on_grid(q: float, epsilon: float, lower: float, upper: float, relation: str, grid: float | None) -> Quantile:
    """The mechanism that `dt.stats.quantile` uses for a column of floats, or for whole numbers if grid is 1."""
    step = Fraction(2) ** math.floor(math.log2((upper - lower) / 2**32)) if grid is None else Fraction(grid)
    return Quantile(q=str(q), epsilon=str(epsilon), lower=lower, upper=upper, grid=step, relation=relation)


@cache
def gauss_legendre(count: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(count)


def flip_pieces(x: Array, candidates: Array, q: float, rate: float, truth: float) -> Pieces:
    """The law of permute-and-flip on a list: the maximum of scores plus exponential noise, by quadrature.

    With z the maximum less the best score, candidate c at d ranks from the best has it with density
    rate exp(-rate (z + d)) times the probability that all others stay below: prod_j (1 - exp(-rate (z + d_j))).
    """
    ordered = np.sort(x)
    below, upto = (np.searchsorted(ordered, candidates, side) for side in ("left", "right"))
    apart = np.maximum(0, np.maximum(below - q * x.size, q * x.size - upto))
    gaps = rate * (apart - apart.min())
    near = gaps < 45  # what is farther has less than 10^-15 together
    gaps, kept = gaps[near], candidates[near]
    levels, counts = np.unique(gaps, return_counts=True)
    # Gauss-Legendre in u = 1 - exp(-z): then the density of the best candidate is even.
    nodes, weights = gauss_legendre(400)
    u, weights = (nodes + 1) / 2, weights / 2
    heads = np.outer(1 - u, np.exp(-levels))  # exp(-(z + gap))
    stays = np.log1p(-heads) @ counts
    mass = (weights[:, None] * np.exp(stays[:, None] - np.log1p(-heads)) * np.exp(-levels)).sum(0)
    each = mass[np.searchsorted(levels, gaps)]
    return Pieces(kept - truth, kept - truth, each / each.sum())
