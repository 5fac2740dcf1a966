"""Questions that are shared by an id: a link to a text and its price, which never runs by itself.

An id is random, so that nobody finds one. Whoever has it reads the question only if it could be asked: of tables that
the reader may not ask about, nothing is told, not even that there is such an id.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from dither.curator.principal import Principal
from dither.errors import Busy, DitherError, LedgerError
from dither.server.endpoints import ASKERS, COMPUTING, Asked, Endpoint
from dither.server.problems import BodyTooLarge, NotFound
from dither.server.questions import PRICE, SQL, Questions, key_of

MOST_SHARED = 100  # of a principal; the oldest goes when there are more
MOST_BYTES = 64 * 1024  # of one


@dataclass(frozen=True)
class Sharing:
    """Keeps questions for those who may ask them."""

    questions: Questions

    def share(self, asked: Asked) -> Any:
        """An id for a question that can be asked; the same one has the same id."""
        text = json.dumps(dict(asked.body), sort_keys=True)
        if len(text.encode()) > MOST_BYTES:
            raise BodyTooLarge(MOST_BYTES)
        self._check(asked.principal, asked.body)
        whose, digest = key_of(asked.principal), sha256(text.encode()).digest()
        return {"id": self.questions.store.share(whose, secrets.token_hex(16), digest, text, MOST_SHARED)}

    def shared(self, asked: Asked) -> Any:
        """The question, as it was stated."""
        found = self.questions.store.shared(asked.path["id"])
        if found is None:
            raise NotFound
        question = json.loads(found)
        try:
            self._check(asked.principal, question)
        except (LedgerError, Busy):
            raise
        except DitherError:
            raise NotFound from None
        return question

    def unshare(self, asked: Asked) -> Any:
        if not self.questions.store.unshare(key_of(asked.principal), asked.path["id"]):
            raise NotFound
        return {"unshared": asked.path["id"]}

    def _check(self, principal: Principal, question: Any) -> None:
        """Refuse what this principal cannot ask; nothing is charged, and no data are read."""
        stated = dict(question)
        self.questions.service.describe(principal, stated.pop("sql"), **stated)


def endpoints(sharing: Sharing) -> tuple[Endpoint, ...]:
    """Questions that are shared."""
    about = "Share a question by an id, under which it can be read and not run."
    return (
        Endpoint("POST", "/questions", ASKERS, about, sharing.share, (SQL, *PRICE), threads=COMPUTING),
        Endpoint(
            "GET", "/questions/{id}", ASKERS, "A question that somebody shares.", sharing.shared, threads=COMPUTING
        ),
        Endpoint("DELETE", "/questions/{id}", ASKERS, "Share one of yours no more.", sharing.unshare),
    )
