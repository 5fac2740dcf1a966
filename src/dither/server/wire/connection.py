"""One client's connection: who it is, what it has set, prepared and opened, and how its work is done and stopped."""

from __future__ import annotations

import struct
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from dither.server.questions import key_of
from dither.server.throttle import Throttle
from dither.server.tokens import Tokens
from dither.server.wire.asking import Asking
from dither.server.wire.blocks import IDLE, Block
from dither.server.wire.channel import Channel, cstring
from dither.server.wire.login.authentication import Login
from dither.server.wire.results import Rows
from dither.server.wire.settings import REPORTED, Settings
from dither.server.wire.sqlstates import WireError

if TYPE_CHECKING:
    from dither.server.wire.catalog.catalog import Catalog
    from dither.server.wire.portal import Portal
    from dither.server.wire.prepared import Prepared

_Result = TypeVar("_Result")
MOST_PREPARED, MOST_PREPARED_BYTES = 500, 4 * 2**20  # statements of a connection, and the texts of all of them
_CANCELLED = "cancelled on request. If the question was charged already, the charge stands, and asking again is free."


class Ended(WireError):
    """The connection ends with this."""

    code = "wire_ended"


@dataclass
class Connection:
    """All that belongs to one client."""

    channel: Channel
    login: Login
    asking: Asking
    settings: Settings
    catalog: Catalog
    tokens: Tokens
    throttle: Throttle
    pool: Executor
    key: bytes
    block: Block = field(default_factory=Block)
    prepared: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)
    _wake: Event = field(default_factory=Event)
    _cancelled: bool = False
    _busy: bool = False

    @property
    def database(self) -> str:
        return self.login.stated.get("database") or self.login.user

    def greet(self) -> None:
        """What a client is told first."""
        for name in REPORTED:
            self.report(name)
        self.channel.put(b"K", self.key)

    def report(self, name: str) -> None:
        """Tell a setting that clients are told of."""
        for shown, value in REPORTED.items():
            if shown.lower() == name.lower():
                value = self.login.user if shown == "session_authorization" else value
                own = value if shown == "session_authorization" else self.settings.show(shown.lower())
                self.channel.put(b"S", cstring(shown), cstring(own))

    def need_block(self) -> None:
        if self.block.state == IDLE:
            raise WireError("25P01", "this is done in a block only.", hint="BEGIN first.")

    def forget(self) -> None:
        """Everything prepared and opened."""
        self.prepared.clear()
        self.portals.clear()

    # -- what reaches the service

    def in_catalog(self, text: str) -> bool:
        return self.catalog.concerns(text)

    def look_up(self, text: str) -> Rows:
        """The rows of a query of the catalog."""
        return self.catalog.rows(text, self)

    def perform(self, work: Callable[[], _Result]) -> _Result:
        """Do work that reaches the service, as often as the principal may, until it is done or cancelled."""
        self._wake.clear()
        self._cancelled, self._busy = False, True
        future: Future[_Result] = self.pool.submit(self._counted, work)
        future.add_done_callback(lambda _: self._wake.set())
        while not future.done() and not self._cancelled:
            self._wake.wait()
            self._wake.clear()
        self._busy = False
        if not future.done():
            future.cancel()  # what has not begun is not charged
            raise WireError("57014", _CANCELLED)
        return future.result()

    def _counted(self, work: Callable[[], _Result]) -> _Result:
        self.check_token()
        with self.throttle.request(key_of(self.login.token.principal)):
            try:
                return work()
            finally:
                self.check_token()  # revoked while it waited, say: what was charged stays the principal's

    def check_token(self) -> None:
        """End with the token: nothing more is told of what was asked before, either."""
        if not self.tokens.valid(self.login.token.id):
            raise Ended("28000", "a valid token is needed.")

    def cancel(self) -> None:
        """Stop what runs, if something does."""
        if self._busy:
            self._cancelled = True
            self._wake.set()

    @property
    def busy(self) -> bool:
        return self._busy


def key_data(process: int, secret: int) -> bytes:
    """What a client has to send to cancel."""
    return struct.pack("!iI", process, secret)
