"""An application that would show exact numbers is refused before anything is stored or asked, by what has to be set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dither.engines.spark import session as session_module
from dither.engines.spark.session import PINNED, REQUIREMENTS, own_session
from dither.engines.spark.settings import Spark
from dither.errors import PolicyError
from dither.policy.limits import Limits

SAFE = {
    "spark.master": "spark://host:7077",
    "spark.ui.enabled": "false",
    "spark.io.encryption.enabled": "true",
    "spark.log.level": "ERROR",
    "spark.executor.syncLogLevel.enabled": "true",
}
SHOWING = {
    "spark.ui.enabled": ["true", None],
    "spark.eventLog.enabled": ["true", "TRUE"],
    "spark.io.encryption.enabled": ["false", None],
    "spark.log.level": ["INFO", "debug", None],
    "spark.executor.syncLogLevel.enabled": ["false", None],
    "spark.extraListeners": ["org.example.Listener"],
    "spark.sql.queryExecutionListeners": ["org.example.Listener"],
    "spark.plugins": ["org.example.Plugin"],
}


class Settings(dict[str, str]):
    """Of a session: what was set in it."""

    def set(self, name: str, value: str) -> None:
        self[name] = value


class Application:
    """What a session says of its application's settings; a process can only have one real application."""

    def __init__(self, settings: dict[str, str | None]) -> None:
        self._stated = {name: value for name, value in settings.items() if value is not None}
        self.sparkContext, self.conf = self, Settings()

    def setLogLevel(self, level: str) -> None:
        self.level = level

    def getConf(self) -> dict[str, str]:
        return self._stated

    def newSession(self) -> Application:
        return Application({})


def check_refused(name: str, value: str | None) -> None:
    with pytest.raises(PolicyError, match=name.replace(".", r"\.")):
        own_session(Application({**SAFE, name: value}))


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in SHOWING.items() for value in values])
def test_what_shows_exact_numbers_is_refused_by_name(name: str, value: str | None) -> None:
    check_refused(name, value)


def test_every_requirement_is_tried() -> None:
    assert {needed.name for needed in (*REQUIREMENTS, *session_module.REMOTE)} == set(SHOWING)


def test_executors_within_this_process_log_as_it_does() -> None:
    with pytest.raises(PolicyError, match="syncLogLevel"):
        own_session(Application({**SAFE, "spark.executor.syncLogLevel.enabled": None}))
    own_session(Application({**SAFE, "spark.master": "local[2]", "spark.executor.syncLogLevel.enabled": None}))


def test_a_session_of_spark_connect_is_refused_whatever_it_says() -> None:
    Connected = type("SparkSession", (Application,), {"__module__": "pyspark.sql.connect.session"})
    with pytest.raises(PolicyError, match="Spark Connect"):
        own_session(Connected(dict(SAFE)))


def test_all_that_is_wrong_is_said_at_once_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        Spark(Application({"spark.master": "local[2]"}), tmp_path / "lake").open(tmp_path / "snapshots", Limits)
    for name in ("spark.ui.enabled=false", "spark.io.encryption.enabled=true", "spark.log.level=WARN"):
        assert name in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("forgotten", REQUIREMENTS, ids=lambda needed: needed.name)
def test_planted_requirement_that_is_forgotten(forgotten: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "REQUIREMENTS", tuple(r for r in REQUIREMENTS if r is not forgotten))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_refused(forgotten.name, SHOWING[forgotten.name][0])


def test_what_statements_mean_is_pinned_in_a_session_of_our_own() -> None:
    handed_in = Application(dict(SAFE))
    own = own_session(handed_in)
    assert own is not handed_in
    assert own.conf == PINNED
    assert handed_in.level == "ERROR", "executors are told"
    assert not handed_in.conf
