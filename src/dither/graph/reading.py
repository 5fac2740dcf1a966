"""Graphs and tables of edges, from whatever holds them, with each edge read by itself.

A private edge never causes an error and never changes how another edge is read: a loop, a repeated edge and what names
no two of the vertices 0..n-1 are ignored, one by one. What kind of object it is, and how many columns, is public.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.exact.parameters import whole
from dither.sensitivity.columns.reading import listed, place_of
from dither.sensitivity.columns.tables import table_columns
from dither.sensitivity.columns.vertices import MOST_VERTICES, NO_VERTEX, vertex_numbers
from dither.sensitivity.graphs.graph import Graph, is_igraph, is_networkx

Vertices = Any  # None, how many there are, or their names
GraphLike = Any  # a networkx or igraph graph, a SciPy sparse matrix, or a table of edges

# What stores each entry that it was given, a 0 too: the others lose zeros (or store zeros nobody gave).
_KEEPS_ZEROS = ("coo", "csr", "csc")
_FORMS = "a NumPy array, an Arrow, pandas or polars table, or a list of rows"


def read_graph(graph: GraphLike, vertices: Vertices, *, least: int = 1) -> Graph:
    """A graph on a public number of vertices, which a table needs to be told and any other form says itself.

    A table's vertices may be named instead of counted; then its ends are these names.
    """
    named = isinstance(vertices, Iterable) and not isinstance(vertices, str)
    names = _places(vertices) if named else None
    if _says_its_vertices(graph):
        read = Graph.read(graph)
        if names is not None:
            raise ParameterError("the graph says its vertices itself; leave out vertices=.")
        if vertices is not None and whole(vertices, "the number of vertices") != read.vertices:
            raise ParameterError(
                f"the graph has {read.vertices} vertices, not {vertices}; leave out vertices=, or add the vertices."
            )
    elif vertices is None:
        raise ParameterError(
            "a table of edges does not say how many vertices there are: give vertices=n, or vertices=[names]."
        )
    elif names is not None:
        ends = [_named(column, names) for column in _columns(graph, 2)]
        read = Graph.read(np.stack(ends, axis=1), len(names))
    else:
        n = whole(vertices, "the number of vertices", most=MOST_VERTICES)
        ends = [vertex_numbers(column) for column in _columns(graph, 2)]
        read = Graph.read(np.stack(ends, axis=1), n)
    whole(read.vertices, "the number of vertices", least=least)
    return read


def read_weights(graph: GraphLike) -> GraphLike:
    """The graph, or a table's rows (end, end, weight), in a form whose weights can be read one by one.

    Every stored entry of a sparse matrix is an edge, one of weight 0 too: the edges are public and a private weight
    must not delete one.
    """
    form = getattr(graph, "format", None)
    if hasattr(graph, "tocoo") and form not in _KEEPS_ZEROS:
        raise ParameterError(
            f"a sparse matrix in the format {form!r} may lose edges of weight 0, and would tell them by that; give one "
            'in the format "coo", "csr" or "csc", built from weights and their places, or a table of edges.'
        )
    if _says_its_vertices(graph):
        return graph
    return list(zip(*(listed(column) for column in _columns(graph, 3)), strict=True))


def _places(names: Any) -> dict[Any, int]:
    """The number of each named vertex."""
    every = listed(names)
    places = {name: place for place, name in enumerate(every)}
    if len(places) != len(every):
        raise ParameterError("name each vertex once.")
    return places


def _named(column: Any, places: dict[Any, int]) -> npt.NDArray[np.int64]:
    """The numbers of the vertices that a column names; what names none becomes a number that no graph has."""

    found = (place_of(item, places) for item in listed(column))
    return np.array([NO_VERTEX if place is None else place for place in found], dtype=np.int64)


def _says_its_vertices(graph: GraphLike) -> bool:
    return is_networkx(graph) or is_igraph(graph) or hasattr(graph, "tocoo")


def _columns(table: Any, count: int) -> list[Any]:
    """The columns of a table; in a list of rows, what is not a row of that length becomes a row of None."""
    if isinstance(table, (list, tuple, set, frozenset)):
        rows = [row if _is_row(row, count) else (None,) * count for row in table]
        return [[row[i] for row in rows] for i in range(count)]
    columns = table_columns(table)
    if columns is None:
        raise ParameterError(f"{type(table).__name__} is not a table of edges; give {_FORMS}.")
    if len(columns) != count:
        wanted = "two columns: the ends" if count == 2 else "three columns: the ends and the weight"
        raise ParameterError(f"this table of edges needs {wanted}; got {len(columns)}.")
    return columns


def _is_row(row: Any, count: int) -> bool:
    return isinstance(row, (list, tuple, np.ndarray)) and len(row) == count
