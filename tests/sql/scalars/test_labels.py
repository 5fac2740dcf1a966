"""Conditions on a category cost little and leave little behind, however many labels were declared."""

from __future__ import annotations

import time

import pytest

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Category, Int
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.lowering.lower import lower
from dither.sql.scalars import labels
from dither.sql.text import patterns

Q = "SELECT COUNT(*) FROM t WHERE "
MANY = 1_000_000
QUICK = 0.5  # seconds of CPU on a slow machine; what is not refused at once takes minutes


@pytest.fixture(scope="module")
def declared() -> Catalog:
    huge = Category([f"label {i}" for i in range(MANY)])
    columns = {
        "huge": huge,
        "same": Category(huge.values),
        "copy": Category(list(huge.values)),
        "some": Category([f"{'north' if i < 20_000 else 'south'} {i}" for i in range(40_000)]),
        "mixed": Category([f"{'xy'[i % 2]} {i}" for i in range(5_000)]),
        "long": Category(["a" * 1_000 + str(i) for i in range(1_000)]),
        "few": Category(["a", "b"]),
        "x": Int(0, 9),
    }
    return Catalog({"t": Table("t", "people", "owner_id", 4, columns)})


def cost(text: str, catalog: Catalog) -> tuple[float, object]:
    """CPU seconds of the best of three runs, and the question or the refusal."""
    best, result = 9.0, None
    for _ in range(3):
        start = time.thread_time()
        try:
            result = read(text, catalog)
        except UnsupportedQuery as error:
            result = error
        best = min(best, time.thread_time() - start)
    return best, result


@pytest.mark.parametrize(
    "condition",
    [
        "huge LIKE '%7%'",
        "huge LIKE 'label 7%'",
        "huge NOT LIKE '%7%'",
        "huge < 'label 5'",
        "huge BETWEEN 'a' AND 'b'",
        "huge = copy",
        "long LIKE '%" + "a" * 500 + "b%'",
        " OR ".join(["some LIKE '%zz%'"] * 20),
        " OR ".join(["few LIKE '%7%'"] * 400),
        " OR ".join(["few LIKE '" + "%a" * 490 + "'"] * 50),
    ],
)
def test_too_many_comparisons_are_refused_quickly(declared, condition):
    seconds, refusal = cost(Q + condition, declared)
    assert isinstance(refusal, UnsupportedQuery)
    assert "compares with labels" in str(refusal)
    assert "declare the column as Text" in str(refusal)
    assert refusal.column is not None
    assert seconds < QUICK


@pytest.mark.parametrize(
    "condition",
    [
        "huge = 'label 5'",
        "huge IN ('label 5', 'label 999999')",
        " OR ".join(["huge = same"] * 20),
        "huge IS NULL",
        "some LIKE 'north%'",
        "some LIKE '%o%h 1%' AND some < 'north 2'",
        "long LIKE '%b%'",
    ],
)
def test_what_is_answered_is_cheap_and_short(declared, condition):
    seconds, question = cost(Q + condition, declared)
    assert not isinstance(question, UnsupportedQuery), question
    assert seconds < QUICK
    (aggregate,) = plan(question)
    assert len(question.canonical()) < 40_000
    assert len(lower(aggregate).sql) < 40_000


def test_a_run_of_labels_is_stored_by_its_ends(declared):
    question = read(Q + "some LIKE 'north%'", declared)
    assert "[[0,19999]]" in question.canonical()
    assert '"some" BETWEEN (0) AND (19999))' in lower(plan(question)[0]).sql


def test_scattered_labels_are_refused(declared):
    with pytest.raises(UnsupportedQuery, match="more than 1000 separate places"):
        read(Q + "mixed LIKE 'x%'", declared)
    with pytest.raises(UnsupportedQuery, match="more than 1000 separate places"):
        read(Q + " OR ".join(f"mixed LIKE 'x {i}___' AND x = {i}" for i in range(1, 5)), declared)
    assert read(Q + "mixed LIKE 'x 1__'", declared)


def test_a_typing_error_among_many_labels_is_cheap_to_report(declared):
    for condition in ("huge = 'labl 7'", "long = '" + "a" * 900 + "'"):
        seconds, refusal = cost(Q + condition, declared)
        assert isinstance(refusal, UnsupportedQuery)
        assert len(str(refusal)) < 600
        assert seconds < QUICK


def test_categories_with_the_same_labels_are_compared_by_code(declared):
    small = Table("t", "people", "o", 4, {"a": Category(["x", "y"]), "b": Category(["x", "y"]), "c": Category(["y"])})
    catalog = Catalog({"t": small})
    assert '(s1."a" = s1."b")' in lower(plan(read(Q + "a = b", catalog))[0]).sql
    with pytest.raises(UnsupportedQuery):
        read(Q + "a = c", catalog)


def test_matching_takes_linear_time():
    text = "a" * 200_000
    for pattern in ("%a" * 400 + "%b", "%a%b%a%b", "a%" * 300 + "b", "%" + "a_" * 20 + "b%"):
        start = time.thread_time()
        assert not patterns.compiled(patterns.normal_pattern(pattern)).match(text)
        assert time.thread_time() - start < 10 * QUICK
    assert labels.MOST_LABELS <= 100_000
