"""Random bits: fresh for every batch, in every process; nothing to seed. (Threats 14 and 15.)"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dither.noise
from dither.noise import discrete_laplace
from dither.noise.entropy import keystream, learn_bits, random_bits, random_words

FORKS, DRAWS = 64, 1000


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 64, 1000])
def test_random_bits_stay_below_their_bound_and_reach_its_top_bit(count):
    values = [random_bits(count) for _ in range(200)]
    assert all(0 <= value < 1 << count for value in values)
    assert count == 0 or any(value >> (count - 1) for value in values)


def test_learnt_bits_come_with_their_number():
    count, word = learn_bits()
    assert count == 32
    assert 0 <= word < 1 << 32


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 100_003])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_words_fill_every_bit(dtype, size):
    words = random_words(dtype, size)
    assert words.shape == (size,)
    assert words.dtype == dtype
    if size >= 100:
        assert np.bitwise_or.reduce(words) == np.iinfo(dtype).max
        assert np.bitwise_and.reduce(words) == 0


@pytest.mark.parametrize("expected_bytes", [100, 1 << 20])
def test_one_stream_never_repeats_itself_and_leaves_other_memory_alone(expected_bytes):
    fill = keystream(expected_bytes)
    memory = np.zeros(40_000, np.uint64)
    fill(memory[10_000:20_000])
    fill(memory[20_000:30_000])
    assert not memory[:10_000].any()
    assert not memory[30_000:].any()
    assert np.unique(memory[10_000:30_000]).size == 20_000


def draws_of_forks(draw: Callable[[], np.ndarray]) -> list[tuple[int, ...]]:
    """What each of many forked processes draws."""
    results = []
    for _ in range(FORKS):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with os.fdopen(writer, "wb") as pipe:
                    pipe.write(draw().astype(np.int64).tobytes())
                status = 0
            finally:
                os._exit(status)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            results.append(tuple(np.frombuffer(pipe.read(), np.int64).tolist()))
        assert os.waitpid(child, 0)[1] == 0
    return results


def has_repeat(results: list[tuple[int, ...]]) -> bool:
    assert all(len(result) == DRAWS for result in results)
    return len({value for result in results for value in result}) < FORKS * DRAWS


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_64_forks_with_1000_draws_each_never_repeat_one():
    # Of 64,000 draws of scale 2**57 two are equal with probability 1e-8 only.
    draw = lambda: discrete_laplace(1 << 57, DRAWS)  # noqa: E731
    draw()
    assert not has_repeat(draws_of_forks(draw))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_generator_that_keeps_its_key_across_a_fork_is_caught():
    # Planted bug: one keyed stream, kept and used by every process.
    kept = keystream(1 << 20)

    def draw() -> np.ndarray:
        words = np.empty(DRAWS, np.uint64)
        kept(words)
        return words >> np.uint64(1)

    draw()
    assert has_repeat(draws_of_forks(draw))


def test_seeding_numpy_changes_nothing():
    seen = []
    for _ in range(2):
        np.random.seed(0)
        seen.append(discrete_laplace(1000, 1000).tolist())
    assert seen[0] != seen[1]


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"np", "numpy"}:
            names.add(f"numpy.{node.attr}")
    return names


def test_no_noise_module_uses_another_source_of_randomness(tmp_path):
    forbidden = {"random", "numpy.random", "secrets", "scipy.stats"}
    files = sorted(Path(dither.noise.__file__).parent.rglob("*.py"))
    assert len(files) > 10
    for path in files:
        assert not imported_modules(path) & forbidden, path.name
    for planted in ("import random", "from numpy import random", "import numpy as np\nnp.random.normal()"):
        (tmp_path / "bug.py").write_text(planted)
        assert imported_modules(tmp_path / "bug.py") & forbidden
