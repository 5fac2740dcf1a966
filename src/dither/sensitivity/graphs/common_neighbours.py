"""Which pairs of vertices can decide how far a triangle count may move, found block by block.

For a pair with a common neighbours and t = deg + deg' (less 2 if adjacent), s toggled edges and then one more reach
min(a + s, floor((t + s) / 2), n - 2) triangles at that pair. Only pairs that no other beats in both a and t matter.
A pair has a <= the smaller degree and t <= the sum of degrees, so, with vertices by falling degree, a row of the
squared adjacency matrix is needed only for a first stretch of columns, which shrinks as better pairs are found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.sensitivity.graphs.graph import Graph, Ints

# Entries of the squared matrix held at once.
_BLOCK = 2_000_000
_FIRST_ROWS = 32


@dataclass(frozen=True)
class Ranked:
    """The adjacency matrix with vertices by falling degree, and those degrees."""

    matrix: Any  # scipy.sparse.csr_array
    degree: Ints

    @classmethod
    def of(cls, graph: Graph) -> Ranked:
        from scipy.sparse import csr_array

        n = graph.vertices
        degree = np.bincount(graph.first, minlength=n) + np.bincount(graph.second, minlength=n)
        order = np.argsort(-degree, kind="stable")
        place = np.empty(n, dtype=np.int32)
        place[order] = np.arange(n, dtype=np.int32)
        row = np.concatenate([place[graph.first], place[graph.second]])
        column = np.concatenate([place[graph.second], place[graph.first]])
        matrix = csr_array((np.ones(len(row), dtype=np.int32), (row, column)), shape=(n, n))
        matrix.sort_indices()
        return cls(matrix, degree[order].astype(np.int64))

    def triangles(self) -> int:
        """The number of triangles: each is counted at its vertex of least degree, where few edges lead upward."""
        from scipy.sparse import tril

        upward = tril(self.matrix, format="csr")
        work = upward @ np.diff(upward.indptr)
        total, start, n = 0, 0, len(self.degree)
        for stop in _stops(work, n):
            rows = upward[start:stop]
            total += int((rows @ upward).multiply(rows).sum(dtype=np.int64))
            start = stop
        return total

    def frontier(self) -> tuple[Ints, Ints]:
        """(a, t) of the pairs that matter, a rising: the best t among pairs with at least a common neighbours."""
        top = np.full(int(self.degree[0]) + 2, -1, dtype=np.int64)
        top[0] = self._largest_degree_sum()
        self._raise_over_common(top)
        a = np.flatnonzero(top >= 0)
        last_of_level = np.append(top[a][1:] != top[a][:-1], True)
        return a[last_of_level], top[a][last_of_level]

    def _largest_degree_sum(self) -> int:
        """The largest t over all pairs, common neighbours or not."""
        best, degree, indptr = -1, self.degree, self.matrix.indptr
        for i in range(len(degree) - 1):
            if degree[i] + degree[i + 1] <= best:
                break
            adjacent = self.matrix.indices[indptr[i] : indptr[i + 1]]
            after = adjacent[adjacent > i]
            # The first vertex after i that is not adjacent to it; adjacent ones lose 2.
            gap = np.flatnonzero(after != np.arange(i + 1, i + 1 + len(after)))
            apart = i + 1 + int(gap[0] if len(gap) else len(after))
            if len(after):
                best = max(best, int(degree[i] + degree[after[0]]) - 2)
            if apart < len(degree):
                best = max(best, int(degree[i] + degree[apart]))
        return best

    def _raise_over_common(self, top: Ints) -> None:
        """Raise top[a] to the largest t over pairs with at least a common neighbours, for every a >= 1."""
        matrix, degree, n = self.matrix, self.degree, len(self.degree)
        columns, start = 2 * n, 0
        while start < n - 1:
            # A pair (i, j) can matter only if top[deg_j] < deg_i + deg_j, which holds for a first stretch of j.
            open_ = top[degree] < degree[start] + degree
            end = n if open_.all() else int(np.argmin(open_))
            if end <= start + 1:
                return
            if end < 0.8 * columns:
                columns, right = end, matrix[:, :end]
                work = np.cumsum(matrix @ np.diff(right.indptr).astype(np.int64))
            before = work[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(work, before + _BLOCK)))
            stop = min(stop, end, n - 1, _FIRST_ROWS if not start else n)
            self._raise_by_block(top, start, stop, (matrix[start:stop] @ right).tocoo())
            start = stop

    def _raise_by_block(self, top: Ints, start: int, stop: int, block: Any) -> None:
        degree, n = self.degree, len(self.degree)
        row, column, common = block.row + start, block.col, block.data
        # t without the loss of 2 for adjacent pairs: the few that would still improve are looked at closely.
        ahead = np.flatnonzero((column > row) & (degree[row] + degree[column] > top[common]))
        row, column, common = row[ahead].astype(np.int64), column[ahead], common[ahead]
        indptr = self.matrix.indptr
        edges = np.repeat(np.arange(start, stop), np.diff(indptr[start : stop + 1])) * n
        edges += self.matrix.indices[indptr[start] : indptr[stop]]
        keys = row * n + column
        found = np.searchsorted(edges, keys)
        adjacent = edges[np.minimum(found, len(edges) - 1)] == keys if len(edges) else np.zeros(len(keys), dtype=bool)
        np.maximum.at(top, common, degree[row] + degree[column] - 2 * adjacent)
        # At least a common neighbours: the best of every larger a counts too.
        top[:] = np.maximum.accumulate(top[::-1])[::-1]


def _stops(work: Ints, n: int) -> list[int]:
    """Ends of blocks of rows whose work is about one block each."""
    done = np.cumsum(work)
    stops, start = [], 0
    while start < n:
        before = done[start - 1] if start else 0
        start = max(start + 1, int(np.searchsorted(done, before + _BLOCK)))
        stops.append(min(start, n))
    return stops
