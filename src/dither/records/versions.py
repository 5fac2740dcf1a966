"""The version of each kind of document that is stored, and what the versions mean.

A document that says no version has the first. A new version is made when what is there would be read wrongly or not at
all by the code before; every version is read for good. A document of a version that is not known here is refused.

Keys and texts by tags (`keys`, `tags`) have none: they never change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dither.errors import LedgerError

VERSION = "version"

# What a reservation records. 1: strategy, mechanisms, and the statements as they were written for the engine, which
# are not looked at any more. 2: the price as stated, snapshot, strategy, and for each measure its text, its
# sensitivities and its mechanism; no statements.
PLAN = 2
# What the planner decided, inside a plan. 1: as `Strategy.document` writes it.
STRATEGY = 1
# What a plan leaves out, inside an answer. 1: as `LeftOut.document` writes it.
LEFT_OUT = 1
# What a charge bought. 1: a line of JSON, then the noisy numbers, as `Released.to_bytes` writes them. A line without
# `left_out` is of code that did not say what plans leave out: its intervals cover the noise alone. 2: the line has
# `labels` as well, a digest of what the codes of keys and chosen values stand for, and is shown under no others.
RELEASE = 2
# What a plan leaves out of its measures, inside a release. 1: as `LeftOut.document` writes it.
LEFT_OUT = 1

# What was computed from answers, in a file of its own. 1: a line of JSON with the columns and the hash of what follows,
# an Arrow stream: the columns in their order, then the lists of terms of those that have one.
COMPUTED = 1

# The request id of a free repeat, in a file of its own. 1: which reservation its answer was paid by, the question, and
# the price as it was stated.
REPEAT = 1


def version_of(document: Mapping[str, Any], newest: int, what: str) -> int:
    """The version of a document, or `LedgerError` if a newer dither wrote it."""
    found = document.get(VERSION, 1)
    if not isinstance(found, int) or not 1 <= found <= newest:
        raise LedgerError(f"{what} has version {found!r}; this dither reads versions up to {newest}. Upgrade dither.")
    return found
