"""What was computed from answers, kept so that it is read again with the same bytes, whatever computes it by then.

A file for each text over the same releases: Arrow's stream behind one line of JSON. It is named by what it was computed
from, and states the hash of what it holds. These files are no part of the ledger: they hold nothing that the releases
and the text do not say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import LedgerCorrupt
from dither.ledger.storage.files import write_durably
from dither.records.versions import COMPUTED, VERSION, version_of
from dither.sql.over.over_columns import OverColumn

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"dither computed\n"


@dataclass(frozen=True, eq=False)
class Computed:
    """A computed table with what is known of its columns: names, noise, and which have a list of terms behind them.

    `chosen`: noise decided which rows there are, and if `compared`, that of other rows too. `of` is the number of the
    part whose rows they are, one by one.
    """

    table: pa.Table
    columns: tuple[OverColumn, ...]
    chosen: bool
    of: int | None
    compared: bool = False

    @property
    def listed(self) -> tuple[int, ...]:
        """The places of columns that have a list, in the order of the lists."""
        return tuple(place for place, one in enumerate(self.columns) if one.listed)

    def to_bytes(self) -> bytes:
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as stream:
            stream.write_table(self.table)
        body: bytes = sink.getvalue().to_pybytes()
        header = {
            VERSION: COMPUTED,
            "sha256": sha256(body).hexdigest(),
            "columns": [{"name": one.name, "noisy": one.noisy, "terms": one.listed} for one in self.columns],
            "chosen": self.chosen,
            "of": self.of,
            "compared": self.compared,
        }
        return b"".join([_MAGIC, json.dumps(header, sort_keys=True).encode(), b"\n", body])

    @classmethod
    def from_bytes(cls, content: bytes) -> Computed:
        import pyarrow as pa

        head, _, body = content.removeprefix(_MAGIC).partition(b"\n")
        if not content.startswith(_MAGIC):
            raise LedgerCorrupt("what was computed from an answer is not in a format that this dither reads.")
        header = json.loads(head)
        version_of(header, COMPUTED, "what was computed from an answer")
        if header["sha256"] != sha256(body).hexdigest():
            raise LedgerCorrupt("what was computed from an answer was changed.")
        columns = tuple(OverColumn(one["name"], one["noisy"], one["terms"]) for one in header["columns"])
        compared = header.get("compared", False)  # earlier versions did not ask
        return cls(pa.ipc.open_stream(body).read_all(), columns, header["chosen"], header["of"], compared)


class ComputedFiles:
    """The files of one analyst; at most so many bytes of them are kept."""

    def __init__(self, folder: Path, analyst: str | None, most: int) -> None:
        whose = sha256(json.dumps(analyst).encode()).hexdigest()[:32]
        self._folder, self._whose, self._most = folder, folder / whose, most

    def find(self, key: str) -> Computed | None:
        """What was computed under this key, if it was kept."""
        try:
            content = (self._whose / key).read_bytes()
        except FileNotFoundError:
            return None
        return Computed.from_bytes(content)

    def keep(self, key: str, computed: Computed) -> Computed:
        """Keep it unless something is kept already, and return what is; without room it is computed again each time."""
        content = computed.to_bytes()
        for place in (self._folder, self._whose):
            place.mkdir(mode=0o700, exist_ok=True)
        taken = sum(path.stat().st_size for path in self._whose.iterdir() if path.is_file())
        if taken + len(content) > self._most:
            return computed
        write_durably(self._whose / key, content, replace=False)
        return self.find(key) or computed


def computed_key(text: str, releases: Sequence[bytes], stated: Mapping[str, str]) -> str:
    """What a computation is found by: its text, the very releases it saw, and how they were shown."""
    parts = {
        "text": text,
        "releases": [sha256(release).hexdigest() for release in releases],
        "stated": dict(sorted(stated.items())),
    }
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
