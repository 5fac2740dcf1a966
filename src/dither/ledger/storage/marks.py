"""Marks of an anchor as bytes: whole ones, and steps from one to the next with the totals that changed."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from dither.ledger.chain import digest, same
from dither.ledger.storage.protocol import Mark
from dither.ledger.totals import PART, SIZE, parted

HEAD = struct.Struct(">8sQ32sI")  # what it is, the sequence and the MAC of the entry, how many bytes follow
MAC = 32
_FIRST = struct.Struct(">8sQ32s")  # a mark without totals, as older dithers wrote it
_LAST, WHOLE, _STEP = b"ditherA3", b"ditherM3", b"ditherS3"
_FIRST_SLOT, SLOT = b"ditherA1", b"ditherA2"  # whole marks in files of two slots, and in rows
_CHANGE = struct.Struct(f">Q{SIZE}s")  # the place of a total, and the total
_LENGTH = struct.Struct(">Q")  # bytes of all totals
_END = struct.Struct(">8sQQ32s")
BLOCK = 4096


def packed(key: bytes, mark: Mark, magic: bytes = WHOLE) -> bytes:
    """A whole mark under its MAC."""
    totals = mark.totals or b""
    text = HEAD.pack(magic, mark.sequence, mark.mac, len(totals)) + totals
    return text + digest(key, b"anchor", text)


def unpacked(key: bytes, content: bytes, *kinds: bytes) -> Mark | None:
    """The whole mark with which the content begins, if that is authentic and of one of these kinds."""
    if len(content) < HEAD.size + MAC:
        return None
    first = content.startswith(_FIRST_SLOT)
    magic, sequence, mac, size = HEAD.unpack_from(content)
    end = _FIRST.size if first else HEAD.size + size
    text = content[:end]
    if magic not in kinds or not same(content[end : end + MAC], digest(key, b"anchor", text)):
        return None
    return Mark(sequence, mac, None if first else parted(text[HEAD.size :]))


def newest_of_slots(key: bytes, content: bytes) -> Mark | None:
    """The newest mark of a file of two slots, as older dithers wrote it."""
    room = max(BLOCK, len(content) // 2 // BLOCK * BLOCK)
    marks = (unpacked(key, content[place : place + room], _FIRST_SLOT, SLOT) for place in (0, room))
    return max((mark for mark in marks if mark is not None), default=None)


def step_of(key: bytes, seal: bytes, before: Mark, after: Mark) -> bytes | None:
    """What leads from the mark with that seal to another; None if the whole is shorter, or accounts are gone."""
    old, new = before.parts or (), after.parts or ()
    changes = []
    for number, (was, part) in enumerate(zip_longest(old, new, fillvalue=b"")):
        if part != was:
            places = range(0, len(part), SIZE)
            found = ((place, part[place : place + SIZE]) for place in places)
            changes += [(number * PART + place, now) for place, now in found if now != was[place : place + SIZE]]
    length = _size(new)
    if length < _size(old) or len(changes) * _CHANGE.size > max(length, PART):
        return None
    body = _LENGTH.pack(length) + b"".join(_CHANGE.pack(place, now) for place, now in changes)
    text = HEAD.pack(_STEP, after.sequence, after.mac, len(body)) + body
    return text + digest(key, b"anchor step", seal, text)


@dataclass(frozen=True)
class End:
    """Where the last step ends, with what sequence and under which MAC; said in one of two blocks."""

    block: int
    sequence: int
    place: int
    seal: bytes

    def packed(self, key: bytes) -> bytes:
        """Under a MAC of its own."""
        text = _END.pack(_LAST, self.sequence, self.place, self.seal)
        return text + digest(key, b"anchor end", text)


def ends_of(key: bytes, content: bytes) -> list[End]:
    """What the two blocks say, as far as it is authentic, the newest first."""
    found = []
    for block in (0, 1):
        text = content[block * BLOCK : block * BLOCK + _END.size]
        seal = content[block * BLOCK + _END.size :][:MAC]
        if text.startswith(_LAST) and same(seal, digest(key, b"anchor end", text)):
            found.append(End(block, *_END.unpack(text)[1:]))
    return sorted(found, key=lambda end: end.sequence, reverse=True)


def followed(key: bytes, mark: Mark, since: End, content: bytes, end: End) -> Mark | None:
    """The mark at one end, from the mark at an earlier one and the steps between; None if they do not lead there."""
    totals, place, seal, sequence, mac = list(mark.parts or ()), 0, since.seal, mark.sequence, mark.mac
    while content.startswith(_STEP, place) and len(content) >= place + HEAD.size:
        _, sequence, mac, size = HEAD.unpack_from(content, place)
        text = content[place : place + HEAD.size + size]
        place += len(text) + MAC
        if not same(content[place - MAC : place], digest(key, b"anchor step", seal, text)):
            return None
        seal = content[place - MAC : place]
        (length,) = _LENGTH.unpack_from(text, HEAD.size)
        if length > _size(totals):
            totals = [*parted(b"".join(totals).ljust(length, b"\0"))]
        for at, total in _CHANGE.iter_unpack(text[HEAD.size + _LENGTH.size :]):
            number, start = divmod(at, PART)
            totals[number] = totals[number][:start] + total + totals[number][start + SIZE :]
    reached = (since.place + place, sequence) == (end.place, end.sequence) and same(seal, end.seal)
    return Mark(sequence, mac, tuple(totals)) if reached else None


def _size(parts: Iterable[bytes]) -> int:
    return sum(map(len, parts))
