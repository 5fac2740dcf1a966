"""The anchor's two slots: whatever becomes of a write, the mark before it stays."""

from __future__ import annotations

import errno
import fcntl
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger import Charge, Ledger
from dither.ledger.storage import anchor as anchor_module
from dither.ledger.storage.anchor import Anchor, Mark
from dither.ledger.totals import Total, unpack
from dither.ledger.units import Units

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


def wide(sequence: int, accounts: int) -> Mark:
    """A mark of so many accounts."""
    totals = [
        Total(number, Units(number * sequence, sequence), bytes([number % 256]) * 32) for number in range(accounts)
    ]
    return Mark(sequence, bytes([sequence % 256]) * 32, b"".join(total.packed for total in totals))


def test_totals_of_many_accounts_read_back(anchor: Anchor) -> None:
    """The slots grow with them, by doubling."""
    sizes = []
    for sequence, accounts in enumerate([0, 1, 70, 72, 71, 200, 500, 3], start=2):
        marked = wide(sequence, accounts)
        anchor.advance(marked)
        assert anchor.read().totals == marked.totals
        assert len(list(unpack(anchor.read().totals or b""))) == accounts
        sizes.append(anchor.path.stat().st_size // BLOCK)
    assert sizes == [2, 2, 2, 4, 4, 8, 16, 16]
    assert anchor.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("accounts", [3, 100])
def test_a_write_torn_anywhere_leaves_the_mark_before(anchor: Anchor, accounts: int) -> None:
    for sequence in (2, 3):
        anchor.advance(wide(sequence, accounts))
    before = anchor.path.read_bytes()
    anchor.advance(wide(4, accounts))
    after = anchor.path.read_bytes()
    changed = [place for place in range(len(after)) if before[place] != after[place]]
    for end in changed:
        anchor.path.write_bytes(after[:end] + before[end:])
        assert anchor.read() == wide(3, accounts)
        assert anchor.read().totals == wide(3, accounts).totals
    anchor.path.write_bytes(after)
    assert anchor.read() == wide(4, accounts)


def test_growing_is_all_or_nothing(anchor: Anchor, monkeypatch: pytest.MonkeyPatch) -> None:
    anchor.advance(wide(2, 3))

    def fails(*_: object) -> None:
        raise OSError("power")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails)
        with pytest.raises((OSError, LedgerError)):
            anchor.advance(wide(3, 100))
    assert anchor.read().totals == wide(2, 3).totals
    assert anchor.advance(wide(3, 100)) == anchor.read()
    assert [path.name for path in anchor.path.parent.iterdir()] == [anchor.path.name]


def check_flips(anchor: Anchor) -> None:
    anchor.create(wide(2, 3))
    content = anchor.path.read_bytes()
    for place in range(52 + 3 * 56 + 32):
        anchor.path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(LedgerCorrupt, match="damaged or belongs to another"):
            anchor.read()


def test_every_byte_of_a_mark_is_sealed(anchor: Anchor) -> None:
    check_flips(anchor)


def test_planted_bug_totals_without_a_seal(anchor: Anchor, monkeypatch: pytest.MonkeyPatch) -> None:
    keyed = anchor_module.digest
    monkeypatch.setattr(anchor_module, "digest", lambda key, purpose, text: keyed(key, purpose, text[:52]))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_flips(anchor)


def test_the_mark_of_an_older_dither(written: Any) -> None:
    """It is read, and stays readable until the second write after it."""
    folder = written(1)
    old = Anchor(folder / "ledger.anchor", (folder / "ledger.key").read_bytes())
    first = old.read()
    assert (first.sequence, first.totals) == (17, None)
    before = old.path.read_bytes()
    old.advance(wide(18, 3))
    after = old.path.read_bytes()
    assert old.read().totals == wide(18, 3).totals
    assert len(after) == len(before) == 2 * BLOCK
    changed = [place for place in range(len(after)) if before[place] != after[place]]
    old.path.write_bytes(after[: changed[-1]] + before[changed[-1] :])
    assert old.read() == first
    assert old.read().totals is None


def test_a_file_of_another_length_is_made_anew(anchor: Anchor) -> None:
    """Cut or grown from outside: where its second slot is cannot be told, so nothing is written in place."""
    for accounts, more in ((3, -1), (3, -BLOCK), (3, 1), (100, 1), (100, BLOCK)):
        anchor.create(wide(2, accounts))
        content = anchor.path.read_bytes()
        size = len(content) + more
        anchor.path.write_bytes(content.ljust(size, b"\0")[:size])
        assert anchor.read() == wide(2, accounts)
        anchor.advance(wide(3, accounts))
        assert anchor.read().totals == wide(3, accounts).totals
        assert anchor.path.stat().st_size == len(content)


def test_the_anchor_knows_what_every_account_has_spent(ledger: Ledger, folder: Path, ask: Any) -> None:
    """After each charge; and nobody's name is in it."""
    anchor = Anchor(folder / "ledger.anchor", (folder / "ledger.key").read_bytes())
    for number in range(3, 80):
        ledger.open_account("patients", f"analyst{number}", kind="pure", cap=Charge(Fraction(1, 100)), terms={})
    for number in (3, 3, 79):
        ask(ledger, f"analyst{number}", "1/1000")
        with ledger._journal.reading() as page:
            truth = [(account.opened, account.spent) for account in page.book.accounts.values()]
        assert [(total.opened, total.spent) for total in unpack(anchor.read().totals or b"")] == truth
    assert len({total.identity for total in unpack(anchor.read().totals or b"")}) == 79
    for name in (b"patients", b"analyst", b"alice"):
        assert name not in anchor.path.read_bytes()


def check_one_writer_at_a_time(anchor: Anchor) -> None:
    """Copies of a ledger have write locks of their own: between look and write, the anchor's own keeps others out."""

    def other_comes(newest: Mark) -> None:
        with open(anchor.path, "rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    anchor.advance(mark(2), other_comes)
    with open(anchor.path, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_one_writer_at_a_time(anchor: Anchor) -> None:
    check_one_writer_at_a_time(anchor)


def test_planted_bug_two_writers_at_once(anchor: Anchor, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = Anchor._open

    def unlocked(self: Anchor) -> int:
        descriptor = locked(self)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return descriptor

    monkeypatch.setattr(Anchor, "_open", unlocked)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_one_writer_at_a_time(anchor)


def test_a_file_that_took_the_place_of_the_one_waited_for(anchor: Anchor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another grew it meanwhile: the next mark goes into the new file, not into the one that is gone."""
    lock, seen = fcntl.flock, []

    def replaced(descriptor: int, how: int) -> None:
        if not seen:
            anchor.create(wide(5, 100))
        lock(descriptor, how)
        seen.append(descriptor)

    monkeypatch.setattr(fcntl, "flock", replaced)
    anchor.advance(wide(6, 100))
    assert len(seen) == 2
    assert anchor.read() == wide(6, 100)


def test_an_anchor_that_cannot_be_locked_is_refused(anchor: Anchor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(LedgerError, match="cannot be locked: No locks available"):
        anchor.advance(mark(2))
    assert anchor.read() == mark(1)


def test_a_mark_that_is_refused_stays(anchor: Anchor) -> None:
    def refuse(newest: Mark) -> None:
        raise LedgerCorrupt(f"{newest.sequence} is of another chain")

    with pytest.raises(LedgerCorrupt, match="1 is of another chain"):
        anchor.advance(mark(2), refuse)
    assert anchor.read() == mark(1)
