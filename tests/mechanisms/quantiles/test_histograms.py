"""Histograms of many groups, and their runs, against plain loops over the codes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.mechanisms.quantiles import histograms
from dither.mechanisms.quantiles.histograms import Histograms

LOW, HIGH, GROUPS = -2, 6, 4
LINE = st.tuples(st.integers(-1, GROUPS), st.integers(LOW - 3, HIGH + 3), st.integers(-2, 9))
# Counts of which two make more than 64 bits, and more than anyone has.
WIDE = st.tuples(st.integers(0, GROUPS - 1), st.integers(-(10**30), 10**30), st.sampled_from([1, 1 << 61, 10**400]))


def lined(lines):
    columns = list(zip(*lines, strict=True)) or [(), (), ()]
    wide = any(abs(number) >= 1 << 63 for column in columns for number in column)
    return [np.array(column, object if wide else np.int64) for column in columns]


def counted(lines, most=1 << 60):
    """The counts of each code of each group, one line after the other."""
    found = [Counter() for _ in range(GROUPS)]
    for place, code, count in lines:
        if 0 <= place < GROUPS and count > 0:
            found[place][min(max(code, LOW), HIGH)] += min(count, most)
    return [{code: min(count, most) for code, count in sorted(one.items())} for one in found]


@given(st.one_of(st.lists(LINE, max_size=30), st.lists(WIDE, max_size=12)))
def test_lines_in_any_order_become_sorted_histograms(lines):
    found = Histograms.of(*lined(lines), GROUPS, LOW, HIGH)
    for group, expected in enumerate(counted(lines)):
        part = slice(int(found.cuts[group]), int(found.cuts[group + 1]))
        assert dict(zip(found.codes[part].tolist(), found.counts[part].tolist(), strict=True)) == expected
        assert found.codes[part].tolist() == list(expected)


def test_more_groups_and_codes_than_one_number_holds():
    lines = [(3, 1 << 60, 2), (0, 5, 1), (3, -(1 << 60), 7), (0, 5, 4)]
    found = Histograms.of(*lined(lines), 4, -(1 << 61), (1 << 61) - 1)
    assert (found.codes.tolist(), found.counts.tolist()) == ([5, -(1 << 60), 1 << 60], [5, 7, 2])
    assert found.cuts.tolist() == [0, 1, 1, 1, 3]


def each_code(runs, group):
    """The gap of each code, checking that the runs follow each other from the lowest to the highest code."""
    part = slice(int(runs.cuts[group]), int(runs.cuts[group + 1]))
    starts, ends = runs.starts[part].tolist(), runs.ends[part].tolist()
    assert [starts[0], *ends] == [*starts, HIGH + 1]
    assert starts[0] == LOW
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    gaps = runs.gaps[part].tolist()
    return [gap for start, end, gap in zip(starts, ends, gaps, strict=True) for _ in range(start, end)]


def distance(counts, q, code):
    size = min(sum(counts.values()), 1 << 60)
    below = min(sum(count for other, count in counts.items() if other < code), 1 << 60)
    upto = min(sum(count for other, count in counts.items() if other <= code), 1 << 60)
    return max(Fraction(0), below - q * size, q * size - upto)


@given(
    st.one_of(st.lists(LINE, max_size=30), st.lists(WIDE, max_size=12)),
    st.sampled_from([Fraction(1, 2), Fraction(99, 100), Fraction(1, 3), Fraction(1, 10**290)]),
)
def test_gaps_are_those_of_the_definition(lines, q):
    rate = Fraction(5, 7)
    found = Histograms.of(*lined(lines), GROUPS, LOW, HIGH)
    by_count, by_rank = found.by_count(rate), found.by_rank(q, rate)
    assert by_count.rate == rate
    for group, counts in enumerate(counted(lines)):
        most = max(counts.values(), default=0)
        assert each_code(by_count, group) == [most - counts.get(code, 0) for code in range(LOW, HIGH + 1)]
        found_gaps = [gap * by_rank.rate for gap in each_code(by_rank, group)]
        assert found_gaps == [distance(counts, q, code) * rate for code in range(LOW, HIGH + 1)]
        assert 0 in found_gaps


def test_one_code_is_one_run():
    found = Histograms.of(np.array([0, 0, 1]), np.array([3, 9, 5]), np.array([1, 2, 3]), 3, 5, 5)
    assert found.counts.tolist() == [3, 3]
    runs = found.by_count(Fraction(1))
    assert (runs.cuts.tolist(), runs.starts.tolist(), runs.ends.tolist()) == ([0, 1, 2, 3], [5] * 3, [6] * 3)


@pytest.mark.parametrize("most", [1, 2, 5, 1000])
def test_parts_hold_every_group_once(monkeypatch, most):
    monkeypatch.setattr(histograms, "_LINES_AT_ONCE", most)
    sizes = [0, 3, 0, 0, 7, 1, 1, 1, 0]
    places = np.repeat(np.arange(len(sizes)), sizes)
    whole = Histograms.of(places, np.arange(places.size), np.arange(places.size) + 1, len(sizes), 0, 99)
    seen = []
    for part, lines in whole.parts():
        assert lines.cuts.size == part.stop - part.start + 1
        assert part.stop - part.start == 1 or lines.codes.size <= most
        assert lines.large == (lines.codes.size > most)
        seen += [lines.codes[lines.cuts[g] : lines.cuts[g + 1]].tolist() for g in range(lines.cuts.size - 1)]
        assert part.stop == len(seen)
    assert seen == [np.flatnonzero(places == group).tolist() for group in range(len(sizes))]
