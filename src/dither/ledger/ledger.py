"""The ledger: charges are durable before data are touched, answers before they are returned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dither.ledger.values import Balance, Charge, Entry, Reservation


class Ledger:
    """A folder's ledger. Skeleton: signatures are final, bodies follow."""

    @classmethod
    def open(cls, folder: Path | str, *, anchor: Path | str | None = None, create: bool = False) -> Ledger:
        raise NotImplementedError

    def open_account(
        self, people: str, analyst: str | None, *, kind: str, cap: Charge, terms: Mapping[str, str]
    ) -> None:
        raise NotImplementedError

    def accounts(self) -> list[tuple[str, str | None]]:
        raise NotImplementedError

    def terms(self, people: str, analyst: str | None = None) -> Mapping[str, str]:
        raise NotImplementedError

    def kind(self, people: str) -> str:
        raise NotImplementedError

    def balance(self, people: str, analyst: str | None = None) -> Balance:
        raise NotImplementedError

    def reserve(
        self,
        people: str,
        analyst: str | None,
        charge: Charge,
        *,
        question: str,
        snapshot: str,
        plan: str,
        request: str | None = None,
    ) -> Reservation:
        raise NotImplementedError

    def settle(self, reservation_id: int, answer: bytes) -> bytes:
        raise NotImplementedError

    def fail(self, reservation_id: int) -> None:
        raise NotImplementedError

    def find(self, people: str, analyst: str | None, question: str, snapshot: str, charge: Charge) -> bytes | None:
        raise NotImplementedError

    def pending(self, people: str | None = None) -> list[Reservation]:
        raise NotImplementedError

    def record(self, kind: str, body: Mapping[str, str]) -> None:
        raise NotImplementedError

    def entries(self) -> Iterator[Entry]:
        raise NotImplementedError

    def verify(self) -> int:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError
