"""The same answers from every form of a graph. At an enormous epsilon the noise is gone, so answers can be compared."""

from __future__ import annotations

import networkx
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import dither as dt

SURE = 500


def answers(graph, **more):
    return (
        dt.graph.edges(graph, epsilon=SURE, **more).value,
        dt.graph.max_degree(graph, epsilon=SURE, **more).value,
        dt.graph.triangles(graph, epsilon=SURE, method="global", **more).value,
        dt.graph.triangles(graph, epsilon=SURE, method="smooth", **more).value,
        dt.graph.triangles(graph, epsilon=SURE, delta="1e-9", method="bounded", **more).value,
    )


def test_graph_objects_say_their_vertices(graph_object):
    assert answers(graph_object) == answers(graph_object, vertices=4) == (5, 3, 2, 2, 2)
    with pytest.raises(dt.ParameterError, match="4 vertices, not 5"):
        dt.graph.edges(graph_object, vertices=5, epsilon=1)


def test_tables_need_the_number_of_vertices(table):
    assert answers(table, vertices=4) == (5, 3, 2, 2, 2)
    with pytest.raises(dt.ParameterError, match="give vertices=n"):
        dt.graph.edges(table, epsilon=1)


def test_edges_outside_the_vertices_are_ignored(small_edges):
    assert answers(small_edges, vertices=3) == (3, 2, 1, 1, 1)


def test_a_bad_edge_leaves_the_others_as_they_are():
    """Two vertices beyond 2^53 would become one if a null turned the column into floats."""
    far = 2**53
    without = pa.table({"a": [0, 1], "b": [1, 2]})
    beside = pa.table({"a": [0, 1, None, far, far + 1], "b": [1, 2, 0, 1, 1]})
    for source in (without, beside):
        assert dt.graph.edges(source, vertices=3, epsilon=SURE).value == 2


def test_no_edges_at_all():
    for empty in ([], np.empty((0, 2), dtype=int), pa.table({"a": [], "b": []}), networkx.empty_graph(4)):
        assert answers(empty, vertices=4) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        5,
        None,
        "01",
        {0: 1},
        np.arange(4),
        np.zeros((2, 3), dtype=int),
        np.array([["a", "b"]]),
        pa.table({"a": [0]}),
        pa.table({"a": ["x"], "b": ["y"]}),
        pandas.DataFrame({"a": [0], "b": [1], "w": [2]}),
        polars.DataFrame({"a": [True], "b": [False]}),
        polars.DataFrame({"a": ["x"], "b": ["y"]}),
        pandas.Series([1, 2]),
    ],
    ids=lambda wrong: type(wrong).__name__,
)
def test_what_is_no_table_of_edges(wrong):
    with pytest.raises(dt.ParameterError, match=r"table of edges|whole numbers"):
        dt.graph.edges(wrong, vertices=4, epsilon=1)


def test_other_forms_that_are_refused():
    with pytest.raises(dt.ParameterError, match="directed"):
        dt.graph.edges(networkx.DiGraph([(0, 1)]), epsilon=1)
    with pytest.raises(dt.ParameterError, match="square"):
        dt.graph.edges(csr_array((3, 4)), epsilon=1)
    for vertices in (0, -1, 2.5, True, "4", 2**31):
        with pytest.raises(dt.ParameterError, match="number of vertices"):
            dt.graph.edges([(0, 1)], vertices=vertices, epsilon=1)


def test_vertices_may_have_names():
    names = ["ann", "bob", "cem", "dan"]
    rows = [
        ("ann", "bob"),
        ("bob", "cem"),
        ("ann", "cem"),
        ("cem", "dan"),
        ("ann", "dan"),
        ("eve", "ann"),
        (0, []),
        None,
    ]
    assert answers(rows, vertices=names) == (5, 3, 2, 2, 2)
    assert answers(pa.table({"a": [a for a, _ in rows[:6]], "b": [b for _, b in rows[:6]]}), vertices=names)[0] == 5
    assert dt.graph.edges([(10, 20), (10, 30)], vertices=[10, 20], epsilon=SURE).value == 1
    with pytest.raises(dt.ParameterError, match="each vertex once"):
        dt.graph.edges(rows, vertices=["ann", "ann"], epsilon=1)
    with pytest.raises(dt.ParameterError, match=r"vertices=\[names\]"):
        dt.graph.edges(pa.table({"a": ["ann"], "b": ["bob"]}), vertices=4, epsilon=1)
    with pytest.raises(dt.ParameterError, match="says its vertices itself"):
        dt.graph.edges(networkx.path_graph(3), vertices=names, epsilon=1)
