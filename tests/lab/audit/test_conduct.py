"""Mechanisms that behave while they are looked at are caught, and those that have no memory are not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dither as dt
from dither.errors import ParameterError
from dither.lab.audit.columns import read_outputs
from dither.lab.audit.conduct import conduct, differ, first_calls, rank
from dither.lab.museum.draws import steps, uniform
from dither.lab.museum.memories import Antithetic, HonestOnceItKnows, HonestWhenAskedAgain

SURE = "0.999999999"
MANY = [(100 * n, 100 * n + 1) for n in range(60)]


def one(mechanism):
    """A mechanism that is called once for each output."""
    return lambda data: int(mechanism(data, 1)[0])


def audit(mechanism, neighbours, samples=20_000, **stated):
    return dt.audit.check(
        mechanism, neighbours=neighbours, claimed=dt.PureDP(1), samples=samples, confidence=SURE, **stated
    )


CHEATS = [
    (HonestWhenAskedAgain, [(0, 1), (5, 6)], "asked before"),
    (HonestOnceItKnows, MANY, "first outputs"),
    (Antithetic, [(0, 1)], "not independent"),
]


@pytest.mark.parametrize(("cheat", "neighbours", "reason"), CHEATS, ids=lambda one: getattr(one, "__name__", None))
def test_cheats_are_caught_and_pass_if_calls_are_not_looked_at(cheat, neighbours, reason):
    caught = audit(cheat(), neighbours)
    assert not caught.passed
    assert caught.counterexample is None
    assert any(reason in words for words in caught.conduct)
    assert str(caught).startswith(f"FAILED: {caught.conduct[0]}")
    # The planted bug: an auditor that draws one side after the other and nothing else.
    assert audit(cheat(), neighbours, calls=0).passed


@pytest.mark.parametrize(("cheat", "neighbours", "reason"), CHEATS, ids=lambda one: getattr(one, "__name__", None))
def test_the_same_for_functions_of_the_data_alone(cheat, neighbours, reason):
    caught = audit(one(cheat()), neighbours, samples=400, calls=400)
    assert any(reason in words for words in caught.conduct)


def test_inputs_that_were_never_given_show_what_first_answers_are():
    """With a function of a number every call is on new data: then the cheat is refuted as any broken mechanism is."""

    class Relative(HonestOnceItKnows):
        def __call__(self, data, size):
            number, bit = data
            return super().__call__(2 * number + bit, size) - 2 * number

    found = audit(Relative(), lambda number: ((number, 0), (number, 1)))
    assert not found.passed
    assert found.counterexample.one_sided
    assert found.lower_bound > 4
    honest = audit(lambda data, size: data[1] + steps(1, size), lambda number: ((number, 0), (number, 1)))
    assert honest.passed
    assert honest.pairs == 4
    with pytest.raises(ParameterError, match="pairs of data"):
        audit(lambda data, size: steps(1, size), lambda number: number)


HONEST = {
    "numbers": lambda data, size: data + steps(1, size),
    "reals": lambda data, size: data + steps(4, size) / 4.0,
    "vectors": lambda data, size: np.array([data, 0]) + steps(1, (size, 2)),
    "constants": lambda data, size: np.zeros(size),
    "words": lambda data, size: ["yes" if u < 0.5 else None for u in uniform(size)],
}


@pytest.mark.parametrize("name", HONEST)
def test_what_has_no_memory_passes(name):
    verdict = audit(HONEST[name], [(0, 1), (3, 4)])
    assert verdict.conduct == ()
    assert verdict.passed


def test_other_kinds_of_dependence():
    class Drifting:
        """Noise that follows the noise before."""

        def __init__(self):
            self.noise = 0.0

        def __call__(self, data, size):
            found = np.empty(size)
            for place, fresh in enumerate(steps(8, size).tolist()):
                self.noise = 0.9 * self.noise + fresh
                found[place] = data + round(self.noise)
            return found

    # At 400 calls the drift is missed once in thirty times, at 1,000 never in hundreds.
    found = list(conduct(Drifting(), 0, [1], 4000, 1e-9))
    assert any("of one call" in words for words in found)

    class SameTwice:
        """Words: each one comes twice."""

        def __init__(self):
            self.kept = []

        def __call__(self, data, size):
            while len(self.kept) < size:
                self.kept += [["yes", "no"][int(uniform(1)[0] < 0.5)]] * 2
            given, self.kept = self.kept[:size], self.kept[size:]
            return given

    assert any("not independent" in words for words in conduct(SameTwice(), 0, [1], 400, 1e-9))


def test_the_error_is_kept():
    """Of samples with one law it is said that they differ no more often than stated: 400 tries at 1 in 10."""
    alarms = sum(differ(*(read_outputs(steps(1, 60), 60) for _ in range(2)), 0.1) is not None for _ in range(400))
    # P[Bin(400, 0.1) > 85] is below 1e-10.
    assert alarms <= 85


def test_ranks_are_uniform_with_ties_and_without():
    batch = read_outputs(np.repeat([0, 1], 50), 100)
    ranks = [rank(read_outputs(np.array([value]), 1), batch) for value in (0, 1) for _ in range(50)]
    assert all(0 < r < 51 / 101 for r in ranks[:50])
    assert all(50 / 101 < r < 1 for r in ranks[50:])
    assert len(set(ranks)) == 100
    assert rank(read_outputs(["yes"], 1), read_outputs(["no", "yes"], 2)) is None
    assert not list(first_calls([(k + 0.5) / 48 for k in range(48)], 1e-3))
    assert list(first_calls([0.5 + 0.1 * math.sin(k) for k in range(48)], 1e-9))
    assert list(first_calls([(k % 2) * 0.98 + 0.01 for k in range(48)], 1e-9))
    assert not list(first_calls([], 1e-3))
