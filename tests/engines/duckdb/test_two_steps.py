"""Statements by keys from the data: first bounds, then the measures of candidates; together what one step says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from dither.accounting import ApproxDP
from dither.curator.curator import Curator
from dither.engines.protocol import EngineError
from dither.engines.result import bounded, of_candidates
from dither.mechanisms.keys.groups import seal_bounded_groups, select_groups
from dither.mechanisms.keys.key_selection import KeySelection
from dither.mechanisms.sealed_values import _unseal
from dither.policy.columns import Fixed, Int, Text
from dither.sql.lowering.statement import Statement

DRAWN = np.random.default_rng(7)
ROWS = 4_000
NAMES = np.array([None, "", "a", "b", "a'b", '"', "été", "%", *(f"k{n}" for n in range(40))], dtype=object)
VISITS = pa.table(
    {
        "who": DRAWN.integers(0, 900, ROWS),
        "name": pa.array(NAMES[np.minimum(DRAWN.geometric(0.1, ROWS) - 1, len(NAMES) - 1)].tolist(), pa.string()),
        "wide": DRAWN.integers(-3, 3, ROWS) * 2**40,
        "fee": DRAWN.integers(0, 100, ROWS),
    }
)
TEXTS = """
SELECT name, COUNT(*) FROM visits GROUP BY name
SELECT name, COUNT(*), SUM(fee), AVG(fee) FROM visits WHERE fee > 20 GROUP BY name
SELECT name, wide, COUNT(DISTINCT who) FROM visits GROUP BY name, wide
SELECT SUBSTRING(name, 1, 1) AS n, COUNT(*) FROM visits WHERE fee < 90 GROUP BY n
SELECT wide * 2 + fee AS n, COUNT(*) FROM visits GROUP BY n
SELECT n, SUM(f) FROM (SELECT name || '!' AS n, fee - 1 AS f FROM visits) AS v GROUP BY n
SELECT name, COUNT(*) FROM visits WHERE fee > 99 GROUP BY name
"""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    with Curator.open(tmp_path_factory.mktemp("clinic")) as curator:
        curator.people("people", budget=ApproxDP(100, "1e-6"))
        columns = {"name": Text(), "wide": Int(-(2**50), 2**50), "fee": Fixed(0, 100, decimals=1)}
        curator.register("visits", VISITS, people="people", owner="who", max_rows_per_owner=5, columns=columns)
        yield curator


def first(curator: Curator, text: str) -> Statement:
    return curator._walk.price(text, epsilon=1).statements[0]


def groups(curator: Curator, statement: Statement) -> dict[tuple[object, ...], tuple[int, ...]]:
    opened = _unseal(curator._engine.run(statement)[0])
    keys = zip(*(key.to_pylist() for key in opened.keys), strict=True)
    return dict(zip(keys, zip(*(measure.tolist() for measure in opened.measures), strict=True), strict=True))


@pytest.mark.parametrize("text", TEXTS.strip().splitlines())
def test_two_steps_find_what_one_finds(clinic, text):
    statement = first(clinic, text)
    assert statement.steps is not None
    whole = groups(clinic, replace(statement, steps=None))
    assert groups(clinic, statement) == whole
    opened = _unseal(clinic._engine.run(statement)[0])
    keys = zip(*(key.to_pylist() for key in opened.keys), strict=True)
    assert all(whole[key][0] <= most for key, most in zip(keys, opened.most, strict=True))
    some = np.arange(0, len(opened.most), 2)  # as a selection would ask
    found = opened.look(some)
    shown = list(zip(*(key.to_pylist() for key in opened.keys), strict=True))
    assert [tuple(values) for values in zip(*(part.tolist() for part in found), strict=True)] == [
        whole[shown[place]] for place in some
    ]


def test_rows_that_are_joined_are_found_once(clinic):
    text = "SELECT a.name, COUNT(*) FROM visits AS a JOIN visits AS b ON a.who = b.who GROUP BY a.name"
    assert first(clinic, text).steps is None
    assert first(clinic, "SELECT COUNT(DISTINCT who) FROM visits").steps is None


def test_only_candidates_are_looked_at(clinic):
    """The keys that an answer shows are among those whose bounds passed with the same noise."""
    looked = []
    opened = _unseal(clinic._engine.run(first(clinic, TEXTS.strip().splitlines()[0]))[0])

    def look(places):
        looked.append(places)
        return opened.look(places)

    selection = KeySelection(rho="0.5", delta="1e-6", keys_per_owner=5)
    sealed = seal_bounded_groups(opened.keys, opened.most, look)
    selected = select_groups(sealed, selection)
    exact = dict(zip(opened.keys[0].to_pylist(), zip(*(m.tolist() for m in opened.measures), strict=True), strict=True))
    assert 0 < len(selected.owners) <= len(looked[0]) < len(opened.most)
    assert len(looked) == 1
    names = selected.keys[0].to_pylist()
    assert names == sorted(names, key=lambda name: (name is None, name))
    assert _unseal(selected.measures[0]).tolist() == [exact[name][1] for name in names]


def test_answers_show_only_keys_that_are_there(clinic):
    shown = clinic.sql("SELECT name, COUNT(*) AS n FROM visits GROUP BY name", epsilon=8).to_arrow()
    assert 0 < shown.num_rows < len(NAMES)
    assert set(shown["name"].to_pylist()) <= set(NAMES.tolist())


@pytest.mark.parametrize(
    "table",
    [
        {"k0": [0, 1], "m0": [1, 1], "m1": [2, 2]},
        {"k0": [0, 0, 1], "m0": [1, 1, 1]},
        {"k0": [0, 1, 3], "m0": [1, 1, 1]},
        {"k0": [0, 1], "m0": [1, 1]},
        {"k0": [0, 1, None], "m0": [1, 1, 1]},
        {"k0": [0, 1, 2], "m0": [1, None, 1]},
        {"k0": [0, 1, 2], "m0": [1.0, 1.0, 1.0]},
    ],
)
def test_results_of_another_shape_are_refused(table):
    with pytest.raises(EngineError):
        of_candidates(pa.table(table), 3, 1)


def test_bounds_of_another_shape_are_refused():
    with pytest.raises(EngineError):
        bounded(pa.table({"k0": ["a"], "m0": [1], "m1": [1]}), 1)
    with pytest.raises(EngineError):
        bounded(pa.table({"k0": ["a"], "m0": [None]}), 1)


def test_a_second_step_that_fails_says_nothing(clinic):
    statement = first(clinic, TEXTS.strip().splitlines()[0])
    broken = replace(statement, steps=replace(statement.steps, measures="SELECT error('secret')"))
    opened = _unseal(clinic._engine.run(broken)[0])
    with pytest.raises(EngineError) as caught:
        opened.look(np.arange(2))
    assert "secret" not in repr(caught.value.__context__)
    assert caught.value.__context__ is None
