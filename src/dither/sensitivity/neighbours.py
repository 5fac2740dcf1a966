"""All neighbours of a small dataset, and all small datasets: the definitions of the relations, written out.

A dataset of rows is a sorted tuple (order carries no information), a graph is a frozenset of pairs (i, j) with i < j,
weights are a tuple in the fixed order of the public edges. Under `owner` a record is everything one owner contributes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dither.errors import ParameterError
from dither.neighbours import Relation

Data = Any  # a tuple of records, a frozenset of edges, or a tuple of weights
Domain = Any  # the possible records or weights; for graphs the number of vertices
Neighbours = Callable[[Data, Domain], Iterable[Data]]


def add_remove(data: Sequence[Any], domain: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Every dataset with one record more or one less.

    >>> sorted(add_remove((1,), (1, 2)))
    [(), (1, 1), (1, 2)]
    """
    for i in range(len(data)):
        yield tuple(sorted((*data[:i], *data[i + 1 :])))
    for extra in domain:
        yield tuple(sorted((*data, extra)))


def replace(data: Sequence[Any], domain: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Every dataset with one record changed."""
    for i, other in itertools.product(range(len(data)), tuple(domain)):
        if other != data[i]:
            yield tuple(sorted((*data[:i], other, *data[i + 1 :])))


def edge(data: frozenset[tuple[int, int]], domain: int) -> Iterator[frozenset[tuple[int, int]]]:
    """Every graph with one edge toggled; the domain is the number of vertices."""
    for pair in itertools.combinations(range(domain), 2):
        yield data ^ {pair}


def edge_weight(data: Sequence[Any], domain: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Every weighting with one weight changed."""
    for i, other in itertools.product(range(len(data)), tuple(domain)):
        if other != data[i]:
            yield (*data[:i], other, *data[i + 1 :])


def contributions(rows: Iterable[Any], most: int) -> list[tuple[Any, ...]]:
    """Everything one owner of at most `most` rows may contribute: the domain of the owner relation."""
    read = tuple(rows)
    return [bag for n in range(1, most + 1) for bag in itertools.combinations_with_replacement(read, n)]


_GENERATORS: dict[Relation, Neighbours] = {
    Relation.ADD_REMOVE: add_remove,
    Relation.REPLACE: replace,
    Relation.EDGE: edge,
    Relation.EDGE_WEIGHT: edge_weight,
    Relation.OWNER: add_remove,  # one record is all that one owner contributes
}


def generator(neighbours: Relation | str | Neighbours) -> Neighbours:
    """The generator of a relation, or the one given."""
    return neighbours if callable(neighbours) else _GENERATORS[Relation.read(neighbours)]


def grows(neighbours: Relation | str | Neighbours) -> bool:
    """Whether datasets of every size are reachable, so that a search needs a largest size."""
    return generator(neighbours) is add_remove


def datasets(domain: Domain, size: int, neighbours: Relation | str = Relation.REPLACE) -> Iterator[Data]:
    """Every dataset of `size` records (up to `size` when records come and go), every weighting, or every graph."""
    relation = Relation.read(neighbours)
    if relation is Relation.EDGE:
        pairs = list(itertools.combinations(range(domain), 2))
        for n in range(len(pairs) + 1):
            yield from map(frozenset, itertools.combinations(pairs, n))
        return
    values = sorted(domain)
    if not values:
        raise ParameterError("the domain is empty; list the possible records.")
    if relation is Relation.EDGE_WEIGHT:
        yield from itertools.product(values, repeat=size)
        return
    for n in range(size + 1) if grows(relation) else (size,):
        yield from itertools.combinations_with_replacement(values, n)
