"""The anchor's two slots: whatever becomes of a write, the mark before it stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dither.errors import LedgerCorrupt
from dither.ledger.anchor import Anchor, Mark

BLOCK = 4096


@pytest.fixture
def anchor(tmp_path: Path) -> Anchor:
    made = Anchor(tmp_path / "ledger.anchor", bytes(32))
    made.create(Mark(1, bytes([1]) * 32))
    return made


def mark(sequence: int) -> Mark:
    return Mark(sequence, bytes([sequence]) * 32)


def test_the_mark_before_survives_a_damaged_write(anchor: Anchor) -> None:
    for sequence in range(2, 8):
        assert anchor.advance(mark(sequence)) == anchor.read() == mark(sequence)
        content = anchor.path.read_bytes()
        newest = sequence % 2 == 0  # the first mark is in slot 0
        slots = [content[:BLOCK], content[BLOCK:]]
        slots[newest] = bytes(BLOCK)
        anchor.path.write_bytes(b"".join(slots))
        assert anchor.read() == mark(sequence - 1)
        anchor.path.write_bytes(content)


def test_marks_never_move_backwards(anchor: Anchor) -> None:
    anchor.advance(mark(9))
    before = anchor.path.read_bytes()
    for sequence in (1, 8, 9):
        assert anchor.advance(mark(sequence)) == mark(9)
    assert anchor.path.read_bytes() == before


def test_an_anchor_without_any_mark_is_refused(anchor: Anchor) -> None:
    anchor.path.write_bytes(bytes(2 * BLOCK))
    with pytest.raises(LedgerCorrupt, match="damaged or belongs to another ledger"):
        anchor.read()
    with pytest.raises(LedgerCorrupt, match="damaged or belongs to another ledger"):
        anchor.advance(mark(2))


def test_no_file_stays_open(anchor: Anchor) -> None:
    def next_descriptor() -> int:
        descriptor = os.dup(0)
        os.close(descriptor)
        return descriptor

    before = next_descriptor()
    for sequence in range(2, 20):
        anchor.advance(mark(sequence))
    assert next_descriptor() == before
