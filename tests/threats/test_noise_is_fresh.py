"""Threats 10, 14, 15 and 19, through the curator: noise is fresh, unseeded, whole numbers only, and always there."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import threats_population as population
from threats_clinic import COUNT, open_clinic

from dither.accounting import ApproxDP, PureDP
from dither.curator.curator import Curator
from dither.mechanisms import Gaussian, Laplace
from dither.mechanisms.additive.addition import AdditiveNoise
from dither.mechanisms.release import Release

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
BUDGETS = [PureDP(9000), ApproxDP(1000, "1e-6")]
Noise = Callable[[Any, Any], Any]


@pytest.fixture(params=BUDGETS, ids=["Laplace", "Gaussian"])
def clinic(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with open_clinic(tmp_path / "clinic", budget=request.param, oversubscribe=True) as curator:
        yield curator


def counts(curator: Curator, prefix: str, many: int = 10) -> list[Any]:
    """The same question from different analysts: a fresh answer each time."""
    budget = curator._accounts.budget("patients")
    analysts = [curator.analyst(f"{prefix}{number}", budget=budget) for number in range(many)]
    return [analyst.sql(COUNT, epsilon="0.1").value for analyst in analysts]


def plant(monkeypatch: pytest.MonkeyPatch, noise: Noise) -> None:
    for kind in (Laplace, Gaussian):
        monkeypatch.setattr(kind, "_noise", noise)


def check_unseeded(curator: Curator) -> None:
    runs = []
    for run in ("a", "b"):
        random.seed(0)
        np.random.seed(0)
        runs.append(counts(curator, run))
    assert runs[0] != runs[1], "the noise can be seeded"


def test_seeds_change_nothing(clinic: Curator) -> None:
    check_unseeded(clinic)


def numpy_noise(mechanism: Any, size: int | None) -> Any:
    return np.random.randint(-50, 50, size)


def python_noise(mechanism: Any, size: int | None) -> Any:
    return np.array([random.randint(-50, 50) for _ in range(size or 1)])


@pytest.mark.parametrize("noise", [numpy_noise, python_noise])
def test_planted_seedable_noise(clinic: Curator, monkeypatch: pytest.MonkeyPatch, noise: Noise) -> None:
    plant(monkeypatch, noise)
    with pytest.raises(AssertionError, match="can be seeded"):
        check_unseeded(clinic)


def check_forks(curator: Curator, folder: Path, forks: int = 6) -> None:
    counts(curator, "before", 2)
    pipes = []
    for number in range(forks):
        read, write = os.pipe()
        if not os.fork():
            try:
                os.write(write, repr(counts(curator, f"fork{number}-")).encode())
            finally:
                os._exit(0)
        os.close(write)
        pipes.append(read)
    told = []
    for pipe in pipes:
        with open(pipe, "rb") as file:
            told.append(file.read())
        os.wait()
    assert b"" not in told
    assert len(set(told)) == forks, "forks repeat noise"


def test_forks_do_not_repeat_noise(clinic: Curator, tmp_path: Path) -> None:
    check_forks(clinic, tmp_path / "clinic")


def test_planted_noise_kept_across_forks(clinic: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = random.Random(os.urandom(16))
    plant(monkeypatch, lambda mechanism, size: np.array([shared.randint(-50, 50) for _ in range(size or 1)]))
    with pytest.raises(AssertionError, match="forks repeat noise"):
        check_forks(clinic, tmp_path / "clinic")


def check_noisy(curator: Curator) -> None:
    """Threat 19: not even the number of rows is told exactly, and it is charged each time."""
    before = curator.budget("patients").spent
    answers = counts(curator, "n", 12)
    assert len(set(answers)) > 1, "the count is told without noise"
    assert curator.budget("patients").spent != before
    assert all(type(answer) is int for answer in answers), "off the grid"
    average = curator.sql("SELECT SUM(age), AVG(age) FROM visits", epsilon=1)
    assert average.columns[0].values.dtype == np.int64, "off the grid"


def test_counts_are_noisy_and_charged(clinic: Curator) -> None:
    check_noisy(clinic)


def test_planted_no_noise(clinic: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, lambda mechanism, size: np.zeros(size or 1, dtype=np.int64))
    with pytest.raises(AssertionError, match="without noise"):
        check_noisy(clinic)


def check_support(release: Callable[[int], Any]) -> None:
    """Threat 10: every output is a whole number, and what D can give D' can give."""
    outputs = [np.asarray(release(value)) for value in (100, 101)]
    for drawn in outputs:
        assert drawn.dtype == np.int64, "off the grid"
    reached = [set(drawn[abs(drawn - 100) <= 10].tolist()) for drawn in outputs]
    assert reached[0] == reached[1] == set(range(90, 111)), "neighbours reach different outputs"


@pytest.mark.parametrize("mechanism", [Laplace(epsilon=1, sensitivity=1), Gaussian(rho="0.05", sensitivity=1)])
def test_neighbours_reach_the_same_outputs(mechanism: Any) -> None:
    # Noise of 11 steps is the rarest that must be seen: of Laplace noise 23 are expected, of Gaussian noise hundreds.
    draws = 10**7 if population.LONG else 3 * 10**6
    check_support(lambda value: mechanism.release(np.full(draws, value)).value)


def test_planted_outputs_that_differ_between_neighbours() -> None:
    with pytest.raises(AssertionError, match="off the grid"):
        check_support(lambda value: value + np.random.laplace(size=10**5))
    with pytest.raises(AssertionError, match="reach different outputs"):
        check_support(lambda value: value + 2 * np.random.randint(-50, 50, size=10**5))


def test_planted_float_noise(clinic: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    class FloatRelease(Release):
        @property
        def value(self) -> Any:
            return np.array([float(step) + np.random.laplace() for step in np.asarray(self.steps)]).astype(object)

    release = AdditiveNoise.release
    monkeypatch.setattr(AdditiveNoise, "release", lambda self, value: FloatRelease(release(self, value).steps, self))
    monkeypatch.setattr(
        "dither.answer.noisy_measures._encode", lambda values: ("float", repr(values.tolist()).encode())
    )
    monkeypatch.setattr("dither.answer.noisy_measures._decode", lambda _, body: np.array(eval(body.decode())))
    with pytest.raises(AssertionError, match="off the grid"):
        check_noisy(clinic)
