"""Tokens: each belongs to one principal, is shown once, ends by itself, and can be revoked at any time."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import sha256
from threading import Lock
from typing import Any

from dither.curator.principal import Principal
from dither.errors import ParameterError, Stranger
from dither.server.store import Store, TokenRow
from dither.server.verifiers import matches, verifier_of

DAYS = 90  # that a token is valid if nothing else is said
_TOKEN = re.compile(r"dither_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_REMEMBERED = 1024  # tokens that were proven: SCRAM takes milliseconds, and each request carries one
_NOBODYS = TokenRow("", "auditor", None, verifier_of(secrets.token_urlsafe(32)), "", 0, 0, 0)


@dataclass(frozen=True)
class Token:
    """What the curator sees of a token: never the token itself."""

    id: str
    principal: Principal
    label: str
    made: int
    until: int
    revoked: int | None

    @property
    def state(self) -> str:
        if self.revoked is not None:
            return "revoked"
        return "valid" if time.time() < self.until else "expired"


class Tokens:
    """The tokens of one curator's folder."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._proven: OrderedDict[bytes, Token] = OrderedDict()
        self._lock = Lock()

    def make(self, principal: Principal, *, days: int = DAYS, label: str = "") -> str:
        """A new token, which is not kept anywhere: whoever loses it gets another."""
        if not (isinstance(days, int) and 1 <= days <= 3650):
            raise ParameterError.of("days", "is how long a token is valid, 1 to 3650.")
        if len(label) > 200:
            raise ParameterError.of("label", "has at most 200 characters.")
        identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        now = int(time.time())
        row = TokenRow(
            identity, principal.role, principal.name, verifier_of(secret), label, now, now + days * 86_400, None
        )
        self._store.add_token(row)
        return f"dither_{identity}_{secret}"

    def revoke(self, identity: str) -> None:
        """From now on it opens nothing."""
        if not self._store.revoke_token(identity, int(time.time())):
            raise ParameterError.of("token", "has no such id; list them with `dither token list`.")

    def all(self) -> list[Token]:
        """Every token that was ever made, in the order of making."""
        return [_token(row) for row in self._store.tokens()]

    def holder(self, text: str) -> Token:
        """The token that a text is; a stranger's, expired and revoked ones are all refused with the same words.

        Whether it is revoked is looked up each time, so that revoking takes effect with the next request.
        """
        found = _TOKEN.fullmatch(text)
        row = None if found is None else self._store.token(found[1])
        # Nobody learns from the time that it takes whether there is a token of that id.
        proven = found is not None and self._proves(row or _NOBODYS, found[2])
        if row is None or not proven or _token(row).state != "valid":
            raise Stranger
        return _token(row)

    def valid(self, identity: str) -> bool:
        """Whether a token of that id is there, not revoked and not expired."""
        row = self._store.token(identity)
        return row is not None and _token(row).state == "valid"

    def check(self, identity: str) -> None:
        """Refuse one that is not."""
        if not self.valid(identity):
            with self._lock:
                for digest, token in self._proven.items():
                    if token.id == identity:
                        self._proven[digest] = replace(token, until=0)
            raise Stranger

    def with_verifier(self, identity: str) -> tuple[Token, str] | None:
        """A token with its verifier, for those who prove that they have it without sending it."""
        row = self._store.token(identity)
        return None if row is None else (_token(row), row.verifier)

    def remembered(self, text: str) -> Token | None:
        """The token that a text was proven to be lately, for nothing; `check` finds out whether it still is valid."""
        found = _TOKEN.fullmatch(text)
        token = None if found is None else self._proven.get(sha256(found[2].encode()).digest())
        return token if found is not None and token and token.id == found[1] and token.state == "valid" else None

    def _proves(self, row: TokenRow, secret: str) -> bool:
        """Whether the secret is the token's; one that was proven is known by its hash for a while."""
        digest = sha256(secret.encode()).digest()
        with self._lock:
            known = self._proven.get(digest)
        if known is not None and hmac.compare_digest(known.id, row.id):
            return True
        if not matches(secret, row.verifier):
            return False
        with self._lock:
            self._proven[digest] = _token(row)
            while len(self._proven) > _REMEMBERED:
                self._proven.popitem(last=False)
        return True


def _token(row: TokenRow) -> Token:
    return Token(row.id, Principal(row.role, row.name), row.label, row.made, row.until, row.revoked)


def document_of(token: Token) -> dict[str, Any]:
    """What may be seen of a token."""
    shown = {"id": token.id, "role": token.principal.role, "name": token.principal.name, "label": token.label}
    return {**shown, "made": token.made, "until": token.until, "state": token.state}
