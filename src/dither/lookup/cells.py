"""A release as numbered cells: the number of a cell follows from public lists of keys alone.

A cell is eight bytes a value. Every combination of keys has a cell; those that the release has no row for say so, and
so does a value that a row does not have. The digest of a release stands for all of it: keys in order, kinds of values,
cells and hint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.lookup.lwe import LweDatabase

VERSION = 2
WIDTH = 8  # bytes of a value
MOST_CELLS = 10**8
_ABSENT = -(1 << 63)  # an integer that stands for a row that is not there; a float says it by NaN
_INDEX, _CELLS, _HINT = "index.json", "cells.bin", "hint.bin"

Key = str | int | float | bool | None


@dataclass(frozen=True)
class Cells:
    """What everybody knows of a release: keys in order, the names and kinds of its values, hashes of the rest."""

    keys: Mapping[str, Sequence[Key]]
    values: Mapping[str, str]  # name to "int" or "float"
    content: str  # SHA-256 of all cells
    hint: str  # and of what a single server's answers are read with

    @property
    def count(self) -> int:
        return prod(len(known) for known in self.keys.values())

    @property
    def size(self) -> int:
        """Bytes of a cell."""
        return WIDTH * len(self.values)

    @cached_property
    def digest(self) -> str:
        """Of the whole release: whoever has the same reads the same cells under the same keys."""
        return sha256(json.dumps(self._stated(), separators=(",", ":")).encode()).hexdigest()

    @cached_property
    def _places(self) -> dict[str, dict[Key, int]]:
        return {name: {key: place for place, key in enumerate(known)} for name, known in self.keys.items()}

    def number(self, **key: Key) -> int:
        """The number of a cell: keys are read like digits."""
        if set(key) != set(self.keys):
            raise ParameterError(f"a cell is named by {', '.join(self.keys)}.")
        found = 0
        for name, known in self.keys.items():
            place = self._places[name].get(key[name])
            if place is None:
                raise ParameterError(f"{name} has no such key.")
            found = found * len(known) + place
        return found

    def read(self, cell: bytes) -> dict[str, int | float | None] | None:
        """The values of a cell, None where a row has none; None in place of all where the release has no row."""
        found: dict[str, int | float | None] = {}
        for place, (name, kind) in enumerate(self.values.items()):
            piece = np.frombuffer(cell, "<i8" if kind == "int" else "<f8", 1, place * WIDTH)[0]
            if (kind == "int" and int(piece) == _ABSENT) or piece != piece:
                found[name] = None
            else:
                found[name] = int(piece) if kind == "int" else float(piece)
        return None if all(value is None for value in found.values()) else found

    def _stated(self) -> dict[str, Any]:
        keys = [[name, _written(known)] for name, known in self.keys.items()]  # lists: their order counts
        values = [[name, kind] for name, kind in self.values.items()]
        return {"version": VERSION, "keys": keys, "values": values, "content": self.content, "hint": self.hint}

    def document(self) -> dict[str, Any]:
        return {**self._stated(), "digest": self.digest}

    @classmethod
    def of(cls, document: Any) -> Cells:
        """An index from outside; whatever is not one, or has not the digest that it states, is refused."""
        try:
            keys = {name: range(*one["range"]) if isinstance(one, dict) else one for name, one in document["keys"]}
            cells = cls(keys, dict(document["values"]), document["content"], document["hint"])
            fits = 0 < cells.count <= MOST_CELLS and {*cells.values.values()} in ({"int"}, {"float"}, {"int", "float"})
            if fits and document == cells.document():
                return cells
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            pass
        raise ParameterError("this is no index of a release that this version of dither reads; publish it anew.")


def _written(known: Sequence[Key]) -> Any:
    """Whole numbers without a gap by their ends."""
    if isinstance(known, range):
        return {"range": [known.start, known.stop]}
    whole = all(type(key) is int for key in known)
    if whole and [*known] == [*range(known[0], known[-1] + 1)]:  # type: ignore[arg-type, operator]
        return {"range": [known[0], known[-1] + 1]}  # type: ignore[operator]
    return list(known)


def publish(rows: Mapping[str, Sequence[Any]], values: Sequence[str], folder: Path) -> Cells:
    """Write a release, given by its columns, as numbered cells: `values` are read, all other columns are keys."""
    keys = [name for name in rows if name not in values]
    if not values or not keys or not set(values) <= set(rows):
        raise ParameterError(f"name the columns to be read; the release has {', '.join(rows)}.")
    rows = {name: list(map(_key, column)) if name in keys else column for name, column in rows.items()}
    known = {name: sorted(set(rows[name]), key=lambda key: (key is None, type(key).__name__, key)) for name in keys}
    count = prod(map(len, known.values()))
    if not 0 < count <= MOST_CELLS:
        raise ParameterError(f"the keys make {count:,} cells; a release to be looked up has 1 to {MOST_CELLS:,}.")
    kinds = {name: "int" if all(isinstance(value, int) for value in rows[name]) else "float" for name in values}
    places = [{key: place for place, key in enumerate(each)} for each in known.values()]
    numbers = np.zeros(len(rows[keys[0]]), np.int64)
    for name, place in zip(keys, places, strict=True):
        numbers = numbers * len(place) + np.array([place[key] for key in rows[name]], np.int64)
    if len(np.unique(numbers)) != len(numbers):
        raise ParameterError("two rows of the release have the same keys.")
    table = np.empty((count, len(values)), "<i8")
    for column, name in enumerate(values):
        try:
            if kinds[name] == "int":
                table[:, column] = _ABSENT
                table[numbers, column] = np.array(rows[name], np.int64)
                if min(rows[name]) == _ABSENT:
                    raise OverflowError
            else:
                table[:, column].view("<f8")[:] = np.nan
                table[:, column].view("<f8")[numbers] = np.array(rows[name], np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(f"{name} is to be read, so it has numbers that eight bytes hold.") from None
    content = table.tobytes()
    # The public matrix follows from the cells: nobody chooses it, and all who publish the same make the same hint.
    seed = sha256(b"dither lookup" + sha256(content).digest()).digest()
    hint = LweDatabase(table.view(np.uint8).reshape(count, WIDTH * len(values)), seed).hint()
    cells = Cells(known, kinds, sha256(content).hexdigest(), sha256(hint).hexdigest())
    folder.mkdir(parents=True, exist_ok=True)
    for name, written in ((_CELLS, content), (_HINT, hint), (_INDEX, json.dumps(cells.document()).encode())):
        (folder / name).write_bytes(written)
    return cells


def _key(key: Any) -> Key:
    """A key as an index has it: decimals, dates and times are texts."""
    if isinstance(key, (date, time, Decimal)):
        return str(key)
    if not isinstance(key, str | int | float | None) or key != key:
        raise ParameterError("keys are texts, numbers, dates, true, false or nothing.")
    return key


@dataclass(frozen=True)
class Published:
    """A release as a server reads it from its folder."""

    cells: Cells
    content: NDArray[np.uint8]  # one row for each cell
    hint: bytes


def open_published(folder: Path) -> Published:
    """Refused unless it is what was published."""
    try:
        cells = Cells.of(json.loads((folder / _INDEX).read_text()))
        content = (folder / _CELLS).read_bytes()
        hint = (folder / _HINT).read_bytes()
    except (OSError, ValueError, KeyError):
        raise ParameterError(f"{folder} holds no release for look-ups: make one with `dither publish`.") from None
    if (sha256(content).hexdigest(), sha256(hint).hexdigest()) != (cells.content, cells.hint):
        raise ParameterError(f"the cells or the hint in {folder} are not those that were published.")
    if len(content) != cells.count * cells.size:
        raise ParameterError(f"the cells in {folder} are not as many as its keys make.")
    return Published(cells, np.frombuffer(content, np.uint8).reshape(cells.count, cells.size), hint)
