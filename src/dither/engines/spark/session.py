"""A session of one's own in the Spark application that was handed in, which must show its exact numbers to nobody.

Spark's pages, event logs, listeners and logs tell how many rows each step of a query had, and what it spills or
shuffles lies on disks. So an application is refused unless all of that is off or encrypted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dither.errors import PolicyError

_QUIET = ("WARN", "ERROR", "FATAL", "OFF")


@dataclass(frozen=True)
class Requirement:
    """A setting of the application: the values that it may have, the first of them the one to set, and its default.

    `why` says what it would show; a setting that may have no value but the empty one must not be set.
    """

    name: str
    allowed: tuple[str, ...]
    default: str
    why: str


REQUIREMENTS = (
    Requirement("spark.ui.enabled", ("false",), "true", "its pages show exact counts"),
    Requirement("spark.eventLog.enabled", ("false",), "false", "it records exact counts"),
    Requirement("spark.io.encryption.enabled", ("true",), "false", "shuffled and spilled rows lie on disks"),
    Requirement("spark.log.level", _QUIET, "INFO", "logs have the sizes of results"),
    Requirement("spark.extraListeners", ("",), "", "listeners are told exact counts"),
    Requirement("spark.sql.queryExecutionListeners", ("",), "", "listeners are told exact counts"),
    Requirement("spark.plugins", ("",), "", "plugins can see rows"),
)
# Where executors are processes of their own, they log at the driver's level if this says so.
REMOTE = (Requirement("spark.executor.syncLogLevel.enabled", ("true",), "false", "executors log sizes of results"),)

# What generated SQL means must not depend on how the application is set.
PINNED = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",
}


def own_session(session: Any) -> Any:
    """A new session of the same application, with settings pinned; PolicyError if the application shows too much."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise PolicyError(
            "this is a session of Spark Connect, whose server writes the words of every error to its log, where they "
            "may quote rows, and runs what other clients submit. Hand in a session of an application of your own, "
            "SparkSession.builder.master(...)."
        )
    remote = not _setting(session, "spark.master", "").startswith("local")
    wrong = [needed for needed in (*REQUIREMENTS, *(REMOTE if remote else ())) if not _met(session, needed)]
    if wrong:
        words = "; ".join(f"{_wanted(needed)}, since {needed.why}" for needed in wrong)
        raise PolicyError(f"this Spark application would show exact numbers. Start it with {words}.")
    # A level that was only configured does not reach executors.
    session.sparkContext.setLogLevel(_setting(session, "spark.log.level", "").strip().upper())
    own = session.newSession()
    for name, value in PINNED.items():
        own.conf.set(name, value)
    return own


def is_frame(source: Any) -> bool:
    """Whether it is a DataFrame of Spark, without importing it."""
    return any(
        kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame" for kind in type(source).__mro__
    )


def _setting(session: Any, name: str, default: str) -> str:
    """As the application was started with: what a session sets for itself changes none of these."""
    return str(session.sparkContext.getConf().get(name, default))


def _met(session: Any, needed: Requirement) -> bool:
    allowed = {value.lower() for value in needed.allowed}
    return _setting(session, needed.name, needed.default).strip().lower() in allowed


def _wanted(needed: Requirement) -> str:
    return f"{needed.name}={needed.allowed[0]}" if needed.allowed[0] else f"no {needed.name}"
