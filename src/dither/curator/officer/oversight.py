"""What whoever oversees accounts finds at the curator: the ledger, its verification, and the officer's decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dither.curator.accounts import Accounts
    from dither.curator.officer.decisions import Officer
    from dither.curator.officer.snapshots import Snapshot
    from dither.curator.officer.statement import Statement
    from dither.engines.routing import Engines
    from dither.ledger import Ledger
    from dither.policy.catalog import PublicTable, Table


class Overseen:
    """A curator's accounts and what is stored."""

    _engine: Engines
    _ledger: Ledger
    _accounts: Accounts

    def _statement(self) -> Statement:
        raise NotImplementedError

    def accounts(self) -> list[tuple[str, str | None]]:
        """Every (people, analyst) that has a budget; the people's own have None for the analyst."""
        return self._ledger.accounts()

    def ledger(self) -> Statement:
        """All questions as a bank statement; iterating gives every entry of the ledger, in order."""
        return self._statement()

    def tables(self) -> list[Table | PublicTable]:
        raise NotImplementedError

    def snapshots(self) -> list[Snapshot]:
        """What is stored of each table: where, since when and how large."""
        from dither.curator.officer.snapshots import snapshots_of

        return snapshots_of(self.tables(), self._engine.stored)

    @property
    def officer(self) -> Officer:
        """Who changes, freezes and closes accounts; raises by signature alone."""
        from dither.curator.officer.decisions import Officer

        return Officer(self._ledger, self._accounts)

    def freeze(self, people: str, *, analyst: str | None = None, reason: str = "by the curator") -> None:
        """Answer nothing new about these people, or to one analyst about them, until thawed; repeats stay free."""
        self.officer.freeze(people, analyst, reason=reason)

    def thaw(self, people: str, *, analyst: str | None = None, reason: str = "by the curator") -> None:
        """Answer questions about these people again, and count incidents from none; or those of one analyst."""
        self.officer.thaw(people, analyst, reason=reason)

    def verify(self) -> int:
        """Check the whole ledger against its key and its anchor; the number of entries."""
        return self._ledger.verify()
