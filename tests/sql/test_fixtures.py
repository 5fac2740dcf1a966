"""Paired files: each query beside the SQL it becomes, or beside the refusal an analyst reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither.errors import PolicyError, UnsupportedQuery
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.lowering.lower import lower

FOLDER = Path(__file__).parent / "fixtures"


def pairs(name: str) -> list[tuple[str, str]]:
    """Blocks parted by blank lines: the query, a line `-->`, what is expected."""
    blocks = (FOLDER / name).read_text(encoding="utf-8").strip().split("\n\n")
    return [(query, expected) for query, _, expected in (block.partition("\n-->\n") for block in blocks)]


@pytest.mark.parametrize(("query", "expected"), pairs("accepted.sql"))
def test_accepted(catalog, query, expected):
    aggregates = plan(read(query, catalog))
    check(aggregates)
    assert "\n".join(lower(aggregate).sql for aggregate in aggregates) == expected


@pytest.mark.parametrize(("query", "expected"), pairs("refused.sql"))
def test_refused(catalog, query, expected):
    with pytest.raises((UnsupportedQuery, PolicyError)) as caught:
        read(query, catalog)
    assert str(caught.value) == expected


def test_both_files_have_many_pairs():
    assert len(pairs("accepted.sql")) > 20
    assert len(pairs("refused.sql")) > 80
