"""The table of everything that can be asked over HTTP: who may, what the body has, and which function answers.

Routes, the OpenAPI document and the tests of roles are all made of this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dither.curator.principal import Principal
from dither.server.bodies import Field

CURATOR, ANALYST, AUDITOR, ADMINISTRATOR = "curator", "analyst", "auditor", "administrator"
MONITOR = "monitor"  # reads the counts of the admin listener, and nothing else
ASKERS = (CURATOR, ANALYST)
# Threads are apart for what is answered at once, for what computes, and for what may take minutes.
QUICK, COMPUTING, SLOW = "quick", "computing", "slow"
EVERYBODY = (CURATOR, ANALYST, AUDITOR, ADMINISTRATOR)


@dataclass(frozen=True)
class Asked:
    """One request, read and checked: who asks, what the path and the query name, and the members of the body."""

    principal: Principal
    token: str  # its id
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """A body with its media type: JSON for everything but answers in other forms."""

    content: bytes
    media_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Endpoint:
    """A method and a path below /v1 with the roles that may use it."""

    method: str
    path: str
    roles: tuple[str, ...]
    about: str
    answer: Callable[[Asked], Any]
    fields: tuple[Field, ...] = ()
    query: tuple[Field, ...] = ()
    media_types: tuple[str, ...] = ("application/json",)
    threads: str = QUICK

    @property
    def name(self) -> str:
        return self.answer.__name__
