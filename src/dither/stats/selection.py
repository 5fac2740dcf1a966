"""The most frequent category, the k most frequent, the winner of a vote, the model most parts of the data choose."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.exact.parameters import Number, whole
from dither.mechanisms.refusal import REFUSED
from dither.mechanisms.selection.exponential import Exponential
from dither.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dither.mechanisms.stability.stable_release import StableRelease
from dither.neighbours import Relation
from dither.sensitivity import distance
from dither.stats.ballots import likes
from dither.stats.estimate import Estimate, statistic
from dither.stats.histogram import category_counts
from dither.stats.price import Price

_NAME_ONLY = "a choice is a name; how clear it was is private. Release counts for a number, at a price of their own."
_METHODS = ("choose", "stable")


@statistic
def mode(
    x: Any,
    *,
    categories: Sequence[Hashable],
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    method: str = "choose",
) -> Estimate:
    """The most frequent of the declared categories: its name only, at the stated price.

    method: "choose" always answers (permute-and-flip; the exponential mechanism at a rho price); "stable" publishes the
    exact mode if it is far from any other, else REFUSED, and needs epsilon and delta.
    """
    price = Price.read(epsilon, delta, rho, relation)
    names = list(categories)
    return _choose(category_counts(x, names), names, price, method, moves_together=True)


@statistic
def top_k(
    x: Any,
    k: int,
    *,
    categories: Sequence[Hashable],
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    method: str = "choose",
) -> Estimate:
    """The k most frequent of the declared categories, most frequent first ("choose": one after the other, each for
    1/k of the price), or the exact set of them in the declared order, or REFUSED ("stable", with delta)."""
    price = Price.read(epsilon, delta, rho, relation)
    names = list(categories)
    wanted = whole(k, "k", most=len(names))
    counts = category_counts(x, names)
    if method == "stable":
        order = np.argsort(-counts, kind="stable")[:wanted]
        chosen = [names[i] for i in sorted(order.tolist())]
        return _stable(chosen, distance.top_k(counts.tolist(), wanted, price.relation), price)
    left, chosen = dict(zip(names, counts.tolist(), strict=True)), []
    for _ in range(wanted):
        winner = _choose(
            np.array(list(left.values())), list(left), price.part(Fraction(1, wanted)), method, moves_together=True
        ).value
        chosen.append(winner)
        del left[winner]
    return Estimate(chosen, price.guarantee, "peeling", chosen, hidden=_NAME_ONLY)


@statistic
def vote(
    ballots: Any,
    *,
    candidates: Sequence[Hashable],
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    method: str = "choose",
) -> Estimate:
    """The candidate whom most people like: one row a person, who may like several.

    Ballots are a table of 0 and 1 with a column for each candidate (an array, a list of rows, or an Arrow, pandas or
    polars table, its columns by name if they are named like the candidates, else in order), or say whom each person
    likes by name: a list or column of names, of lists or sets of names, or of {name: 0 or 1}. Under add_remove all
    counts move the same way by at most 1, so no more noise is needed than for one vote each; under replace they may
    move both ways, which costs twice as much.
    """
    price = Price.read(epsilon, delta, rho, relation)
    names = list(candidates)
    if len(set(names)) != len(names) or not names:
        raise ParameterError("name at least one candidate, and each once.")
    return _choose(likes(ballots, names), names, price, method, moves_together=True)


@statistic
def model_selection(
    choices: Any,
    *,
    models: Sequence[Hashable],
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    method: str = "choose",
) -> Estimate:
    """The model that most parts of the data choose. `choices` has one entry for each part: the best model there.

    The records are split into disjoint parts by a rule that looks at each record alone (or by position under replace),
    so one record changes the choice of one part from one model to another, under either relation.
    """
    price = Price.read(epsilon, delta, rho, relation)
    names = list(models)
    return _choose(category_counts(choices, names), names, price, method, moves_together=False)


def _choose(counts: Any, names: list[Any], price: Price, method: str, *, moves_together: bool) -> Estimate:
    """Counts of which each moves by at most 1; all the same way under add_remove if they move together."""
    if method not in _METHODS:
        raise ParameterError(f'method must be "choose" or "stable"; got {method!r}.')
    steps = price.relation if moves_together else Relation.REPLACE
    if method == "stable":
        return _stable(names[int(np.argmax(counts))], distance.argmax(counts.tolist(), steps), price)
    rule: dict[str, Any] = {
        "sensitivity": 1,
        "monotone": steps is Relation.ADD_REMOVE,
        "relation": price.relation,
    }
    mechanism = (
        Exponential(epsilon=price.choosing_epsilon, **rule)
        if price.rho is not None
        else PermuteAndFlip(epsilon=price.choosing_epsilon, **rule)
    )
    winner = names[mechanism.release(counts).value]
    return Estimate(winner, price.guarantee, type(mechanism).__name__, winner, hidden=_NAME_ONLY)


def _stable(value: Any, steps: int | float, price: Price) -> Estimate:
    if price.delta is None or price.epsilon is None:
        raise ParameterError('method="stable" publishes without noise or not at all: it needs epsilon= and delta=.')
    mechanism = StableRelease(epsilon=price.epsilon, delta=price.delta, relation=price.relation)
    found = mechanism.release(value, steps).value
    return Estimate(REFUSED if found is REFUSED else found, price.guarantee, "StableRelease", found, hidden=_NAME_ONLY)
