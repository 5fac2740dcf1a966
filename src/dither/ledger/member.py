"""One of several changes that share a durable commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dither.errors import DitherError
from dither.ledger.page import Page

T = TypeVar("T")


@dataclass
class Member(Generic[T]):
    """A change that waits for its turn, and what became of it."""

    change: Callable[[Page], T]
    ended: bool = False
    error: Exception | None = None
    value: T | None = None

    def run(self, page: Page) -> None:
        """Make the change, or none of it if it is refused."""
        head, book = page.head, page.book.copy()
        page.connection.execute("SAVEPOINT member")
        try:
            self.value = self.change(page)
        except DitherError as error:
            self.error = error
            page.connection.execute("ROLLBACK TO member")
            page.head, page.book = head, book
        page.connection.execute("RELEASE member")

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]
