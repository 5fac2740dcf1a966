"""CSV files as one Arrow stream of text, record by record in bounded memory.

Each file begins in a state of its own, so that nothing in one can reach into the next. A record with another number of
fields than the header is no record: it is passed over and counted, as is one that is longer than `LONGEST`.
"""

from __future__ import annotations

import codecs
import gzip
import itertools
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dither.engines.duckdb.snapshots.sanitising import NOT_TEXT
from dither.engines.duckdb.sources.csv_fields import Dialect, Fields, Torn
from dither.engines.duckdb.sources.files import File
from dither.engines.duckdb.sources.tally import Tally
from dither.errors import PolicyError

LONGEST = 1 << 23  # bytes of one record
DELIMITERS = (";", "\t", "|")  # what a first line without commas may be separated by
_CHUNK = 1 << 22
_ESCAPED = re.compile("[\udc80-\udcff]")  # what Python decodes other bytes to, and no text is decoded to
TORN = (
    "{}: quotation marks do not pair, so records cannot be told apart; write a quotation mark inside a quoted field "
    'as "".'
)
BROKEN = "{} cannot be read to its end; check that the file is complete."
_UNREADABLE = (OSError, EOFError, zlib.error)


@dataclass(frozen=True)
class Records:
    """The records of files that have this header, and the tally of reading them."""

    files: Sequence[File]
    names: Sequence[str]
    delimiter: str
    tally: Tally = field(default_factory=Tally)

    def reader(self, wanted: Sequence[int]) -> Any:
        """A stream of the columns at these positions. Where a file cannot be read on it ends, and the tally says so."""
        import pyarrow as pa

        schema = pa.schema([(f"c{position}", pa.string()) for position in wanted])
        return pa.RecordBatchReader.from_batches(schema, self.tally.counted(self._batches(schema, wanted)))

    def _batches(self, schema: Any, wanted: Sequence[int]) -> Iterator[Any]:
        import pyarrow as pa

        try:
            for one in self.files:
                beyond_header = 1
                for text, fields, long in self._split(one):
                    first, kept = self._kept(fields, long, beyond_header)
                    beyond_header = 0
                    columns = _columns(text, fields, [first[kept] + position for position in wanted])
                    yield pa.record_batch(columns, schema=schema)
        except Torn:
            self.tally.torn = True
        except _UNREADABLE:
            self.tally.broken = True

    def _kept(self, fields: Fields, long: bool, header: int) -> tuple[Any, Any]:
        """The first field of each record, and which of them are records; the rest is counted."""
        first = np.concatenate([[0], fields.last[:-1] + 1])
        counts = fields.last - first + 1
        kept = counts == len(self.names)
        blank = np.zeros(len(kept), bool)
        if len(self.names) > 1:  # an empty line; in a single column it is a record with nothing in it
            blank = (counts == 1) & (fields.ends[first] == fields.starts[first]) & ~fields.quoted[first]
        size = fields.ends[fields.last] + fields.quoted[fields.last] - (fields.starts[first] - fields.quoted[first])
        kept &= size <= LONGEST
        if long:  # what is here is not all of it
            kept[0], blank[0] = False, False
        kept[:header] = False
        self.tally.unreadable += int(np.count_nonzero(~kept[header:] & ~blank[header:]))
        return first, kept

    def _split(self, one: File) -> Iterator[tuple[bytes, Fields, bool]]:
        """Text of whole records, where its fields are, and whether the first of them is too long to be read."""
        dialect, rest, long = Dialect(self.delimiter.encode()), b"", False
        for text, final in _until_last(self._utf8(one)):
            text = rest + text
            held = b"\r" if text.endswith(b"\r") and not final else b""  # a line feed may follow
            text = text.removesuffix(held)
            if final and text and not text.endswith((b"\n", b"\r")):
                text += b"\n"
            fields = dialect.split(text)
            if len(fields.last):
                yield text, fields, long
                long = False
            rest = text[fields.rest :]
            if len(rest) > LONGEST:
                rest, long = dialect.state(rest), True
            rest += held
        if rest:
            raise Torn

    def _utf8(self, one: File) -> Iterator[bytes]:
        """The file's bytes, with a mark in place of those that are not UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        for chunk in itertools.chain(read(one), [None]):
            if chunk and chunk.isascii() and not decoder.getstate()[0]:
                yield chunk
                continue
            text = decoder.decode(chunk or b"", final=chunk is None)
            try:
                yield text.encode()
            except UnicodeEncodeError:
                self.tally.utf8 = False
                yield _ESCAPED.sub(NOT_TEXT, text).encode()


def header(file: File, delimiter: str) -> list[str]:
    """The names in the first record of a file."""
    records = Records([file], [], delimiter)
    try:
        text, fields, _ = next(records._split(file))
        bounds = zip(fields.starts, fields.ends, range(int(fields.last[0]) + 1), strict=False)
        names = [text[start:end].decode() for start, end, _ in bounds]
    except StopIteration:
        return []
    except Torn:
        raise PolicyError(_separated(file, delimiter) or TORN.format(file.name)) from None
    except _UNREADABLE:
        raise PolicyError(BROKEN.format(file.name)) from None
    if any(NOT_TEXT in one or "\0" in one for one in names):
        raise PolicyError(
            f"{file.name} cannot be read as CSV in UTF-8; convert it first, such as with iconv -f UTF-16 -t UTF-8, or "
            "-f LATIN1."
        )
    return [one.replace('""', '"') if doubled else one for one, doubled in zip(names, fields.doubled, strict=False)]


def _separated(file: File, delimiter: str) -> str | None:
    """What to say if quoted names of the first line are followed by what separates fields elsewhere."""
    line = next(read(file)).split(b"\n")[0].decode(errors="replace")
    for mark in DELIMITERS:
        if mark != delimiter and f'"{mark}' in line:
            stated = f"delimiter={mark!r}, or --delimiter {mark!r}"
            return f"{file.name}: its fields look separated by {mark!r}: state {stated}."
    return None


def read(one: File) -> Iterator[bytes]:
    """The file in pieces, unpacked, without a byte order mark."""
    with one.open() as raw:
        file: Any = gzip.GzipFile(fileobj=raw) if one.name.lower().endswith(".gz") else raw
        first = file.read(_CHUNK)
        yield first.removeprefix(codecs.BOM_UTF8)
        while chunk := file.read(_CHUNK):
            yield chunk


def _until_last(chunks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each piece, and whether it is the last."""
    ahead = next(chunks)
    for chunk in chunks:
        yield ahead, False
        ahead = chunk
    yield ahead, True


def _columns(text: bytes, fields: Fields, positions: list[Any]) -> list[Any]:
    """The fields at each list of positions as an Arrow array; an empty one is NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Every second text between two neighbouring bounds is a field; the others are the separators and marks between.
    bounds = np.empty(2 * len(fields.starts), np.int32)
    bounds[0::2], bounds[1::2] = fields.starts, fields.ends
    texts = pa.Array.from_buffers(pa.string(), len(bounds) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(text)])
    full, found = fields.ends > fields.starts, []
    for at in positions:
        valid = pa.py_buffer(np.packbits(full[at], bitorder="little"))
        chosen = pa.Array.from_buffers(pa.int64(), len(at), [valid, pa.py_buffer(2 * at)])
        column = texts.take(chosen)
        if (doubled := fields.doubled[at]).any():
            where = pa.array(doubled)
            single = pc.replace_substring(column.filter(where), '""', '"')
            column = pc.replace_with_mask(column, where, single)
        found.append(column)
    return found
