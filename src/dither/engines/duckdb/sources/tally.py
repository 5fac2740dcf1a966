"""What a reader of records says of its work once it is done, so that the load can be held to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dither.errors import PolicyError


@dataclass
class Tally:
    """Records that were read, lines that were none, and what went wrong; `complete` is set at the very end."""

    records: int = 0
    unreadable: int = 0
    utf8: bool = True
    torn: bool = False
    broken: bool = False
    refused: PolicyError | None = None
    complete: bool = False

    def counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The batches, whose rows are counted as they pass; the engine, which takes them, would hide a refusal."""
        try:
            for batch in batches:
                self.records += batch.num_rows
                yield batch
            self.complete = True
        except PolicyError as refused:
            self.refused = refused
