"""What goes into the ledger and what comes out: exact, frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dither.exact.parameters import non_negative

State = Literal["reserved", "settled", "failed"]


@dataclass(frozen=True)
class Charge:
    """An exact price or cap in an account's currency; each account rounds it outward into its own integer units.

    >>> Charge(Fraction(1, 2)).delta
    Fraction(0, 1)
    """

    cost: Fraction  # epsilon in "pure" and "basic" accounts, rho in "zcdp" accounts
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", non_negative(self.cost, "the cost of a charge"))
        object.__setattr__(self, "delta", non_negative(self.delta, "the delta of a charge"))


@dataclass(frozen=True)
class Balance:
    """An account in exact figures: spent is never understated, left never overstated."""

    cap: Charge
    spent: Charge
    left: Charge
    free: Charge  # what is left and not reserved for others


@dataclass(frozen=True)
class Reservation:
    """A durable charge, and what became of it. The answer is there once the state is "settled"."""

    id: int
    people: str
    analyst: str | None
    question: str
    snapshot: str
    plan: str
    charge: Charge
    request: str | None
    state: State
    answer: bytes | None
    principal: str | None = None
    time: int | None = None
    sql: str | None = None
    alias: str | None = None


# What an entry may say beside the charge: who asked for the analyst, when (whole seconds since 1970, UTC; as coarse as
# the caller wishes), the text as asked, and the caller's own name for the request.
ASKED = ("principal", "time", "sql", "alias")


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; never changed, never removed."""

    sequence: int
    kind: str
    body: Mapping[str, object]
    version: int
