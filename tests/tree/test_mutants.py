"""The mistakes that mutation testing plants: the right ones, one at a time, evenly sampled."""

from __future__ import annotations

import ast
import importlib.util
import sys
from itertools import pairwise
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("mutants", Path(__file__).parents[2] / "tools" / "mutants.py")
made = importlib.util.module_from_spec(_SPEC)
sys.modules["mutants"] = made
_SPEC.loader.exec_module(made)

SOURCE = '''
"""Words are left alone: 1 < 2."""

def price(low: int, high: int) -> int:
    if not low < high:
        raise ValueError(f"{low + 1} is too much")
    check(low)
    return max(low, high - 1) if high and low else -high
'''


def changes(source: str) -> set[str]:
    return {mutant.change for mutant, _ in made.mutants("m.py", source)}


def test_the_usual_mistakes() -> None:
    expected = {
        "not low < high -> low < high",
        "low < high -> low <= high",
        "low < high -> low >= high",
        "raise ValueError(f'{low + 1} is too much') -> pass",
        "check(low) -> pass",
        "max(low, high - 1) -> min(low, high - 1)",
        "high - 1 -> high + 1",
        "high - 1 -> high - 2",
        "high - 1 -> high - 0",
        "high and low -> high or low",
        "high and low -> high",
        "-high -> high",
        "max(low, high - 1) if high and low else -high -> -high if high and low else max(low, high - 1)",
    }
    assert expected <= changes(SOURCE)


def test_each_has_one_change_and_still_compiles() -> None:
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()
    found = made.mutants("m.py", SOURCE)
    assert len({text for _, text in found}) == len(found) > 15
    for mutant, text in found:
        compile(text, "m.py", "exec")
        assert sum(a != b for a, b in zip(whole, text.splitlines(), strict=True)) == 1, mutant
        assert 4 <= mutant.line <= 8


@pytest.mark.parametrize(
    "source", ["'''1 < 2'''", "def f(x: int | None) -> 'a < b': ...", "Number = int | str", "import os"]
)
def test_words_and_types_are_left_alone(source: str) -> None:
    assert not changes(source)


def test_samples_are_spread_evenly() -> None:
    found = [(made.Mutant("m.py", line, 0, ""), "") for line in range(100)]
    for seed in range(5):
        lines = sorted(mutant.line for mutant, _ in made.sample(found, 10, seed))
        assert {(after - before) for before, after in pairwise(lines)} <= {9, 10, 11}
    assert made.sample(found, 10, 1) == made.sample(found, 10, 1) != made.sample(found, 10, 2)
    assert len(made.sample(found, 1000, 3)) == 100
    assert made.sample([], 5, 1) == []
