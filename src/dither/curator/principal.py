"""Who asks: the curator, an analyst by name, or an auditor."""

from __future__ import annotations

from dataclasses import dataclass

from dither.errors import PolicyError, Stranger

ROLES = ("curator", "auditor", "administrator")  # of those who have no name of their own, and see all of the ledger
_MONITOR = "monitor"  # has no name either, and sees nothing of it


@dataclass(frozen=True)
class Principal:
    """One who asks or orders. An analyst always has a name, so that a name that got lost never asks as the curator.

    >>> Principal.analyst("Alice")
    Principal(role='analyst', name='alice')
    """

    role: str
    name: str | None = None

    def __post_init__(self) -> None:
        from dither.ledger.names import canonical_name

        if self.role == "analyst":
            try:
                object.__setattr__(self, "name", canonical_name(self.name, "analyst"))  # type: ignore[arg-type]
            except PolicyError:  # nobody has such a name
                raise Stranger from None
        elif self.role not in (*ROLES, _MONITOR) or self.name is not None:
            raise Stranger

    @classmethod
    def curator(cls) -> Principal:
        """The one who declares tables and budgets."""
        return cls("curator")

    @classmethod
    def auditor(cls) -> Principal:
        """One who reads the ledger and proves it, and asks nothing."""
        return cls("auditor")

    @classmethod
    def analyst(cls, name: str) -> Principal:
        """The one of that name, whom the curator made or not: the service decides that."""
        return cls("analyst", name)
