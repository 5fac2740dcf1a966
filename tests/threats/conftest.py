"""Loads the harness and what it asks about, so that tests of threats can import them by name."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dither.curator.curator import Curator

for _name in (
    "population", "generator", "mutations", "harness", "hostile", "queries", "clinic", "extremes", "limits_relations",
    "limits_generator", "served", "test_budget_games", "test_clock",
):  # fmt: skip
    _module = f"threats_{_name.removeprefix('test_')}"
    if _module not in sys.modules:
        _spec = importlib.util.spec_from_file_location(_module, Path(__file__).with_name(f"{_name}.py"))
        _loaded = importlib.util.module_from_spec(_spec)
        sys.modules[_module] = _loaded
        _spec.loader.exec_module(_loaded)

import threats_clinic  # noqa: E402
import threats_extremes as extremes  # noqa: E402
import threats_harness as harness  # noqa: E402
import threats_population as population  # noqa: E402
import threats_served as served  # noqa: E402


@pytest.fixture(autouse=True)
def one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charges record when they were made, which is no difference between two databases that are compared."""
    monkeypatch.setattr("dither.curator.time_grid.time", SimpleNamespace(time=lambda: 2**30))


@pytest.fixture(scope="session")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, harness.Side]]:
    """Two databases, large and few, each also in another order and without one owner or another."""
    place = tmp_path_factory.mktemp("neighbours")
    everybody, few = population.everybody(), population.few()
    sources = {
        "D": everybody,
        "D in another order": population.shuffled(everybody),
        "without 4217": population.without(everybody, population.NASTY),
        "few": few,
        "few in another order": population.shuffled(few),
    }
    # 4217 has everything, 3 most of the other rows, 7 one row, 8 NULL everywhere.
    sources |= {f"few without {owner}": population.without(few, owner) for owner in (population.NASTY, 3, 7, 8)}
    built: dict[str, harness.Side] = {}
    for number, (name, rows) in enumerate(sources.items()):
        built[name] = harness.make_side(place / str(number), rows, built.get("D"))
    yield built
    for side in built.values():
        side.curator.close()


@pytest.fixture(scope="session")
def extreme_pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[harness.Side, harness.Side]]]:
    """Databases at the ends of everything declared, each beside itself without one owner."""
    built = extremes.make_pairs(tmp_path_factory.mktemp("extremes"))
    yield built
    for pair in built.values():
        for side in pair:
            side.curator.close()


@pytest.fixture(scope="session")
def http_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clinics to serve copies of."""
    return served.make_bases(tmp_path_factory.mktemp("http"))


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Curator]:
    """A small clinic with PureDP(4)."""
    with threats_clinic.open_clinic(tmp_path / "clinic") as curator:
        yield curator
