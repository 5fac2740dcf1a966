"""The tables that an asker may name. All others do not exist for that asker: not in answers, refusals or hints."""

from __future__ import annotations

from dither.curator.accounts import Accounts
from dither.policy.catalog import Catalog
from dither.policy.store import Policy, PolicyFile


class Catalogs:
    """Makes each catalogue once: what is declared about so many people, until declarations or caps are others."""

    def __init__(self, policy: PolicyFile, accounts: Accounts) -> None:
        self._policy, self._accounts = policy, accounts
        self._made: tuple[Policy, dict[frozenset[str], Catalog]] = Policy({}), {}

    def of(self, analyst: str | None) -> Catalog:
        """The tables of those people of whom an analyst has a cap, and public ones; all of them for the curator."""
        declared = self._policy.read()
        if analyst is None:
            return declared.catalog()
        people = frozenset(self._accounts.people_of(analyst))
        known, made = self._made
        if known is not declared:
            made = {}
            self._made = declared, made
        if people not in made:
            own = {name: table for name, table in declared.tables.items() if table.people in people}
            made[people] = Catalog(own, declared.public, declared.schema)
        return made[people]
