"""Property tests have the same examples in every run, however slow the machine; a campaign draws new ones."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

for _name in ("clusters", "live_tables", "spark_cluster"):
    _spec = importlib.util.spec_from_file_location(f"tests_{_name}", Path(__file__).parent / f"{_name}.py")
    sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_spec.name])
_clusters, _spark = sys.modules["tests_clusters"], sys.modules["tests_spark_cluster"]

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1")) > 1
settings.register_profile(
    "dither", deadline=None, derandomize=not CAMPAIGN, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dither")


@pytest.fixture(scope="session")
def clusters() -> Iterator[Callable[[str], Any]]:
    """PostgreSQL clusters by name, each started when it is first asked for."""
    made: dict[str, Any] = {}

    def cluster(name: str) -> Any:
        if name not in made:
            made[name] = _clusters.Cluster()
        return made[name]

    yield cluster
    _clusters.close_all(made.values())


@pytest.fixture(scope="session", autouse=True)
def _no_spark_is_left() -> Iterator[None]:
    yield
    _spark.close_running()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark's own client leaves sockets to the garbage collector."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark() -> Any:
    """A standalone cluster of Spark, with a session."""
    return _spark.running()


@pytest.fixture
def cluster(clusters: Callable[[str], Any]) -> Any:
    """A PostgreSQL server."""
    return clusters("first")


@pytest.fixture
def database(cluster: Any) -> str:
    """The address of an empty database."""
    return cluster.empty("clinic")


@pytest.fixture(autouse=True)
def _questions_are_read_anew_for_planted_bugs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a question remembers was computed by the very code that a planted bug replaces, or by the bug itself."""
    if request.node.name.startswith("test_planted"):
        from dither.sql.binding.reading import Readings, read

        def anew(self: Readings, asker: str | None, text: str, catalog: Any, *, dialect: str | None = None) -> Any:
            return read(text, catalog, dialect=dialect)

        monkeypatch.setattr(Readings, "read", anew)
