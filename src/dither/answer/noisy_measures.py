"""What the ledger stores for a question: the noisy measures and the mechanisms that made them.

Names, intervals and averages are computed from it whenever the answer is shown, so a repeat under other aliases or with
another confidence is post-processing of the same release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dither.errors import LedgerError
from dither.records.versions import RELEASE

_MAGIC = b"dither release\n"
_INT64 = "int64"  # little-endian words
_TEXT = "text"  # decimal digits separated by commas, for numbers beyond 64 bits


@dataclass(frozen=True)
class NoisyMeasure:
    """Noisy integers, one per group: which measure they are, and the mechanism that made them, as text."""

    measure: str
    values: np.ndarray[Any, Any]
    mechanism: Mapping[str, str]


@dataclass(frozen=True)
class Released:
    """Everything one charge bought. `price` is what was paid, as exact text.

    `keys` are the codes or texts of the groups shown, a list for each key, where they were selected from the data.
    """

    price: Mapping[str, str]
    measures: Sequence[NoisyMeasure]
    keys: tuple[list[int | str | None], ...] | None = None
    limits: tuple[str, ...] | None = None  # what the plan left out of the data, in words
    bounds: tuple[tuple[str, int, int], ...] = ()  # to which values, by their text, were clamped
    centres: tuple[tuple[str, int], ...] = ()  # from which averages of values, by their text, took distances
    left_out: Mapping[str, Any] | None = None  # what the plan may have left out; None: an earlier version did not say
    labels: str | None = None  # a digest of what its codes stand for; None: format 1 did not say

    def within(self, most: int) -> Released:
        """If keys that were selected make it larger than so many bytes: with the first of them alone, and saying so."""
        if self.keys is None or not self.keys or len(self.to_bytes()) <= most:
            return self
        low, high = 0, len(self.keys[0]) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if len(self.first(middle).to_bytes()) <= most else (low, middle - 1)
        return self.first(low)

    def first(self, groups: int) -> Released:
        """The first groups alone, and saying so."""
        keys = tuple(key[:groups] for key in self.keys or ())
        measures = tuple(replace(measure, values=measure.values[:groups]) for measure in self.measures)
        said = f"Only the first {groups:,} groups are shown: an answer with more would be too large."
        return replace(self, keys=keys, measures=measures, limits=(*(self.limits or ()), said))

    def to_bytes(self) -> bytes:
        bodies = [_encode(measure.values) for measure in self.measures]
        header = {
            "format": 1 if self.labels is None else RELEASE,
            "price": dict(self.price),
            **({} if self.keys is None else {"keys": [list(key) for key in self.keys]}),
            **({} if self.limits is None else {"limits": list(self.limits)}),
            **({"bounds": [list(bounds) for bounds in self.bounds]} if self.bounds else {}),
            **({"centres": [list(centre) for centre in self.centres]} if self.centres else {}),
            **({} if self.left_out is None else {"left_out": dict(self.left_out)}),
            **({} if self.labels is None else {"labels": self.labels}),
            "measures": [
                {
                    "measure": measure.measure,
                    "mechanism": dict(measure.mechanism),
                    "encoding": encoding,
                    "bytes": len(body),
                }
                for measure, (encoding, body) in zip(self.measures, bodies, strict=True)
            ],
        }
        line = json.dumps(header, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        return b"".join([_MAGIC, line, *(body for _, body in bodies)])

    @classmethod
    def from_bytes(cls, data: bytes) -> Released:
        if not data.startswith(_MAGIC):
            raise LedgerError("a stored answer is not in a format that this dither reads.")
        end = data.index(b"\n", len(_MAGIC))
        header = json.loads(data[len(_MAGIC) : end])
        if header["format"] not in range(1, RELEASE + 1):
            raise LedgerError(f"a stored answer has format {header['format']}; this dither reads 1 to {RELEASE}.")
        measures, start = [], end + 1
        for stored in header["measures"]:
            body = data[start : start + stored["bytes"]]
            measures.append(NoisyMeasure(stored["measure"], _decode(stored["encoding"], body), stored["mechanism"]))
            start += stored["bytes"]
        keys = tuple(header["keys"]) if "keys" in header else None
        limits = tuple(header["limits"]) if "limits" in header else None
        bounds = tuple((text, low, high) for text, low, high in header.get("bounds", ()))
        centres = tuple((text, centre) for text, centre in header.get("centres", ()))
        left_out, labels = header.get("left_out"), header.get("labels")
        return cls(header["price"], tuple(measures), keys, limits, bounds, centres, left_out, labels)


def _encode(values: np.ndarray[Any, Any]) -> tuple[str, bytes]:
    if values.dtype == np.int64:
        return _INT64, values.astype("<i8", copy=False).tobytes()
    return _TEXT, ",".join(str(int(value)) for value in values).encode()


def _decode(encoding: str, body: bytes) -> np.ndarray[Any, Any]:
    if encoding == _INT64:
        return np.frombuffer(body, "<i8")
    if encoding == _TEXT:
        return np.array([int(digits) for digits in body.decode().split(",") if digits], dtype=object)
    raise LedgerError(f"a stored answer uses encoding {encoding!r}, which this dither does not read.")
