"""What a server keeps beside the ledger: tokens, requests with what they were answered, and jobs.

Nothing here decides what is charged: the ledger does. A row is durable before anybody is told what it says, but for the
bodies of requests that have no answer yet.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path

from dither.ledger.storage.protocol import Connection
from dither.ledger.storage.store import undoing
from dither.ledger.storage.together import Together
from dither.server.database import database_of

MOST_ENDED = 200  # jobs of a principal that ended
MOST_FREE, MOST_FREE_BYTES = 1000, 2**28  # answers of a principal that cost nothing


@dataclass(frozen=True)
class TokenRow:
    """A token as it is kept; times are whole seconds since 1970."""

    id: str
    role: str
    name: str | None
    verifier: str
    label: str
    made: int
    until: int
    revoked: int | None


@dataclass(frozen=True)
class JobRow:
    """A job as it is kept: its body and result are JSON; until `lease` a process has it in hand."""

    id: str
    principal: str
    token: str
    body: str
    state: str
    result: str | None
    made: int
    lease: int
    came: int = 0  # its place among all that ever came
    begun: int = 0  # its place among all that were ever begun, 0 as long as it waits


class Store:
    """Read and written by all server processes and the command line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database = database_of(folder)
        self._transaction, self._read = self._database.transaction, self._database.read
        self._together = Together(self._transaction, undoing)
        self._seen = Together(partial(self._transaction, durable=False), undoing)

    # -- tokens

    def add_token(self, row: TokenRow) -> None:
        with self._transaction() as connection:
            connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(row))

    def revoke_token(self, identity: str, now: int) -> bool:
        """Whether there is one; the time of the first revocation stays. Its jobs that wait are taken back."""
        with self._transaction() as connection:
            connection.execute("UPDATE jobs SET state = 'cancelled' WHERE token = ? AND state = 'queued'", (identity,))
            changed = connection.execute(
                "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?", (now, identity)
            )
            return changed.rowcount == 1

    def token(self, identity: str) -> TokenRow | None:
        found = self._read("SELECT * FROM tokens WHERE id = ?", (identity,))
        return TokenRow(*found[0]) if found else None

    def tokens(self) -> list[TokenRow]:
        return [TokenRow(*row) for row in self._read("SELECT * FROM tokens ORDER BY made, id")]

    # -- requests and answers

    def request(self, principal: str, request: str) -> tuple[bytes, str | None, str] | None:
        """The digest of what was asked under a request id, the id of its answer, if it has one, and the body."""
        found = self._read(
            "SELECT digest, answer, body FROM requests WHERE principal = ? AND request = ?", (principal, request)
        )
        return (bytes(found[0][0]), found[0][1], str(found[0][2])) if found else None

    def bind(self, principal: str, request: str, digest: bytes, body: str, lease: int) -> bytes:
        """Bind a request id to what is asked under it; the digest that it is bound to, of now or before.

        All processes see it, and it dies with none of them. It needs no sync of its own: a charge binds its id durably,
        in the ledger, and an answer that is kept here syncs all that came before. Whoever binds it to the same has one
        attempt more under way, and has it in hand until `lease`.
        """

        def change(connection: Connection) -> bytes:
            connection.execute(
                "INSERT INTO requests VALUES (?, ?, ?, ?, NULL, 1, ?) ON CONFLICT (principal, request) DO UPDATE"
                " SET attempts = requests.attempts + 1,"
                " lease = CASE WHEN requests.lease > excluded.lease THEN requests.lease ELSE excluded.lease END"
                " WHERE requests.digest = excluded.digest",
                (principal, request, digest, body, lease),
            )
            (bound,) = connection.execute(
                "SELECT digest FROM requests WHERE principal = ? AND request = ?", (principal, request)
            ).fetchone()
            return bytes(bound)

        return self._seen.write(change)

    def unbind(self, principal: str, request: str) -> None:
        """One attempt was refused; the last of them frees the id, so that something else may be asked under it.

        An attempt whose process died never ends, so that the id stays bound.
        """
        whose = (principal, request)

        def change(connection: Connection) -> None:
            connection.execute("UPDATE requests SET attempts = attempts - 1 WHERE principal = ? AND request = ?", whose)
            connection.execute(
                "DELETE FROM requests WHERE principal = ? AND request = ? AND answer IS NULL AND attempts <= 0", whose
            )

        self._seen.write(change)

    def renew_requests(self, requests: list[tuple[str, str]], lease: int) -> None:
        """Keep requests in hand for longer."""
        with self._transaction() as connection:
            for one in requests:
                connection.execute("UPDATE requests SET lease = ? WHERE principal = ? AND request = ?", (lease, *one))

    def take_request(self, principal: str, request: str, now: int, lease: int) -> str | None:
        """The body of a request that nobody has in hand and that has no answer; from now on the caller has it."""
        with self._transaction() as connection:
            found = connection.execute(
                "UPDATE requests SET lease = ? WHERE principal = ? AND request = ? AND lease < ? AND answer IS NULL"
                " RETURNING body",
                (lease, principal, request, now),
            ).fetchone()
        return None if found is None else str(found[0])

    def keep(self, principal: str, request: str, identity: str, document: bytes, *, free: bool = False) -> str:
        """Keep an answer under its id, for the request it was bound to; the id of the answer that this has first.

        Of those that were read again for free only the newest are kept, since they are as many as one likes.
        """

        def change(connection: Connection) -> str:
            (bound,) = connection.execute(
                "UPDATE requests SET answer = coalesce(answer, ?) WHERE principal = ? AND request = ? RETURNING answer",
                (identity, principal, request),
            ).fetchone()
            if bound != identity:
                return str(bound)
            values = (identity, principal, time.time_ns(), document, int(free))
            connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", values)
            if free:
                self._forget(connection, principal)
            return identity

        return self._together.write(change)

    def _forget(self, connection: Connection, principal: str) -> None:
        """Free answers beyond the most that are kept, by number and by bytes, and the requests that they were for."""
        rows = connection.execute(
            "SELECT id, length(document) FROM answers WHERE principal = ? AND free = 1 ORDER BY made DESC, id",
            (principal,),
        ).fetchall()
        held = 0
        for place, (identity, size) in enumerate(rows):
            held += size
            if place and (place >= MOST_FREE or held > MOST_FREE_BYTES):
                connection.execute("DELETE FROM answers WHERE id = ?", (identity,))
                connection.execute("DELETE FROM requests WHERE principal = ? AND answer = ?", (principal, identity))

    def answer(self, principal: str, identity: str) -> bytes | None:
        """An answer of this very principal."""
        found = self._read("SELECT document FROM answers WHERE id = ? AND principal = ?", (identity, principal))
        return bytes(found[0][0]) if found else None

    # -- jobs

    def add_job(self, row: JobRow, most: int) -> bool:
        """Whether there was room: so many jobs of a principal wait or run at most. Of those that ended, some stay."""
        with self._transaction() as connection:
            (open_jobs,) = connection.execute(
                "SELECT count(*) FROM jobs WHERE principal = ? AND state IN ('queued', 'running')", (row.principal,)
            ).fetchone()
            if open_jobs < most:
                (came,) = connection.execute("SELECT coalesce(max(came), 0) + 1 FROM jobs").fetchone()
                values = astuple(replace(row, came=came))
                connection.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
                ended = "SELECT id FROM jobs WHERE principal = ? AND state NOT IN ('queued', 'running')"
                connection.execute(
                    f"DELETE FROM jobs WHERE id IN ({ended} ORDER BY came DESC LIMIT ? OFFSET ?)",
                    (row.principal, MOST_ENDED, MOST_ENDED),
                )
            return bool(open_jobs < most)

    def job(self, principal: str, identity: str) -> JobRow | None:
        found = self._read("SELECT * FROM jobs WHERE id = ? AND principal = ?", (identity, principal))
        return JobRow(*found[0]) if found else None

    def take_job(self, now: int, lease: int, but: Sequence[str] = ()) -> JobRow | None:
        """The next job that nobody has in hand, of any principal but these.

        It is of a principal of whom fewest run, among those of the one who was served longest ago, and of that one's
        the job that came first: whoever has many waiting holds up nobody else.
        """
        others = f"principal NOT IN ({', '.join('?' * len(but))})" if but else "1 = 1"
        free = f"(state = 'queued' OR (state = 'running' AND lease < ?)) AND {others}"
        running = "SELECT count(*) FROM jobs r WHERE r.principal = j.principal AND r.state = 'running' AND r.lease >= ?"
        last = "SELECT coalesce(max(b.begun), 0) FROM jobs b WHERE b.principal = j.principal"
        if not self._read(f"SELECT 1 FROM jobs WHERE {free} LIMIT 1", (now, *but)):
            return None  # what every process asks each second disturbs nobody who writes
        with self._transaction() as connection:
            found = connection.execute(
                f"SELECT * FROM jobs j WHERE {free} ORDER BY ({running}), ({last}), came, id LIMIT 1", (now, *but, now)
            ).fetchone()
            if found is None:
                return None
            connection.execute(
                "UPDATE jobs SET state = 'running', lease = ?, begun = (SELECT max(begun) + 1 FROM jobs) WHERE id = ?",
                (lease, found[0]),
            )
        return JobRow(*found)

    def renew_jobs(self, identities: list[str], lease: int) -> None:
        """Keep jobs in hand for longer."""
        with self._transaction() as connection:
            for identity in identities:
                connection.execute("UPDATE jobs SET lease = ? WHERE id = ?", (lease, identity))

    def end_job(self, identity: str, state: str, result: str | None, *, only: str = "running") -> bool:
        """Whether the job was in that state and is in the other now."""
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE jobs SET state = ?, result = ?, body = '' WHERE id = ? AND state = ?",
                (state, result, identity, only),
            )
            return changed.rowcount == 1

    # -- questions that are shared

    def share(self, principal: str, identity: str, digest: bytes, question: str, most: int) -> str:
        """Keep a question to be read under an id; the id that it has. Of a principal's only the newest are kept."""
        with self._transaction() as connection:
            whose = (principal, digest)
            known = connection.execute("SELECT id FROM shared WHERE principal = ? AND digest = ?", whose).fetchone()
            if known is not None:
                return str(known[0])
            values = (identity, principal, time.time_ns(), digest, question)
            connection.execute("INSERT INTO shared VALUES (?, ?, ?, ?, ?)", values)
            others = connection.execute(
                "SELECT id FROM shared WHERE principal = ? AND id <> ? ORDER BY made DESC, id", (principal, identity)
            ).fetchall()
            for old in others[most - 1 :]:
                connection.execute("DELETE FROM shared WHERE id = ?", old)
            return identity

    def shared(self, identity: str) -> str | None:
        """The question of that id, whoever shares it."""
        found = self._read("SELECT question FROM shared WHERE id = ?", (identity,))
        return str(found[0][0]) if found else None

    def unshare(self, principal: str, identity: str) -> bool:
        """Whether there was one of this very principal."""
        with self._transaction() as connection:
            gone = connection.execute("DELETE FROM shared WHERE id = ? AND principal = ?", (identity, principal))
            return gone.rowcount == 1

    def close(self) -> None:
        self._database.close()
