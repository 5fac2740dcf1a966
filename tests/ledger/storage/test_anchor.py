"""The anchor's steps and their ends: whatever becomes of a write, the mark before it stays, and none older."""

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
from dither.ledger.storage import marks as marks_module
from dither.ledger.storage.anchor import Anchor, Mark
from dither.ledger.totals import Total, parted, unpack
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
        newest = (sequence + 1) % 2  # the first end is said in block 0
        ends = [content[:BLOCK], content[BLOCK : 2 * BLOCK]]
        ends[newest] = bytes(BLOCK)
        anchor.path.write_bytes(b"".join(ends) + content[2 * BLOCK :])
        assert anchor.read() == mark(sequence - 1)
        ends[1 - newest] = bytes(BLOCK)
        anchor.path.write_bytes(b"".join(ends) + content[2 * BLOCK :])
        with pytest.raises(LedgerCorrupt, match="damaged"):
            anchor.read()
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
    return Mark(sequence, bytes([sequence % 256]) * 32, parted(b"".join(total.packed for total in totals)))


def test_totals_of_many_accounts_read_back(anchor: Anchor) -> None:
    """Step by step, and by a reader who begins anew; the file grows with them."""
    sizes = []
    for sequence, accounts in enumerate([0, 1, 70, 72, 71, 200, 500, 3, 3000, 3001], start=2):
        marked = wide(sequence, accounts)
        anchor.advance(marked)
        for reader in (anchor, Anchor(anchor.path, anchor.key)):
            assert reader.read().totals == marked.totals
        assert len(list(unpack(anchor.read().totals or b""))) == accounts
        sizes.append(anchor.path.stat().st_size // BLOCK)
    assert sizes[-2:] == [85, 85]
    assert {*sizes[:-2]} <= {*range(19, 26)}
    assert anchor.path.stat().st_mode & 0o777 == 0o600


def one_more(before: Mark, account: int) -> Mark:
    """The mark after that account spent something."""
    totals = bytearray(before.totals or b"")
    totals[56 * account + 8 : 56 * account + 16] = before.sequence.to_bytes(8, "big")
    return Mark(before.sequence + 1, before.mac, parted(bytes(totals)))


def written_for(accounts: int, anchor: Anchor, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes that a hundred charges write beside so many accounts."""
    anchor.create(newest := wide(2, accounts))
    content = anchor.path.read_bytes()
    written: list[int] = []
    pwrite = os.pwrite
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda to, data, at: written.append(len(data)) or pwrite(to, data, at))  # type: ignore[func-returns-value]
        for number in range(100):
            newest = one_more(newest, number % min(accounts, 7))
            anchor.advance(newest)
    assert Anchor(anchor.path, anchor.key).read().totals == newest.totals
    assert anchor.path.stat().st_size == len(content), "nothing was made anew"
    return sum(written)


def test_a_charge_writes_as_much_with_many_accounts_as_with_few(
    anchor: Anchor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert written_for(10_000, anchor, monkeypatch) == written_for(10, anchor, monkeypatch)


def test_without_room_for_a_step_the_file_is_made_anew(anchor: Anchor) -> None:
    newest, files = wide(2, 10), set()
    anchor.create(newest)
    for number in range(700):
        newest = one_more(newest, number % 10)
        anchor.advance(newest)
        files.add(anchor.path.stat().st_size)
    assert Anchor(anchor.path, anchor.key).read().totals == newest.totals
    assert len(files) == 1


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
            anchor.advance(wide(3, 2000))
    assert anchor.read().totals == wide(2, 3).totals
    assert anchor.advance(wide(3, 2000)) == anchor.read()
    assert [path.name for path in anchor.path.parent.iterdir()] == [anchor.path.name]


def check_flips(anchor: Anchor) -> None:
    """Where the last step ends, the whole mark, the step: whoever begins anew believes nothing that was changed."""
    anchor.create(wide(2, 3))
    anchor.advance(wide(3, 3))
    content = anchor.path.read_bytes()
    whole, step = 52 + 3 * 56 + 32, 52 + 8 + 3 * 64 + 32
    both = [*range(88), *range(BLOCK, BLOCK + 88)]
    for place in (*both, *range(2 * BLOCK, 2 * BLOCK + whole + step)):
        anchor.path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        if place < BLOCK:
            assert Anchor(anchor.path, anchor.key).read().totals == wide(3, 3).totals
        elif place < 2 * BLOCK or place >= 2 * BLOCK + whole:
            assert Anchor(anchor.path, anchor.key).read().totals == wide(2, 3).totals
        else:
            with pytest.raises(LedgerCorrupt, match="damaged or belongs to another"):
                Anchor(anchor.path, anchor.key).read()


def test_every_byte_of_a_mark_is_sealed(anchor: Anchor) -> None:
    check_flips(anchor)


def test_planted_bug_totals_without_a_seal(anchor: Anchor, monkeypatch: pytest.MonkeyPatch) -> None:
    keyed = marks_module.digest
    monkeypatch.setattr(marks_module, "digest", lambda key, purpose, *texts: keyed(key, purpose, texts[-1][:52]))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_flips(anchor)


def test_planted_bug_steps_that_follow_nothing(anchor: Anchor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the MAC of the one before, a step of long ago could take the place of another."""
    keyed = marks_module.digest

    def check() -> None:
        anchor.create(wide(2, 3))
        steps = []
        for sequence in (3, 4, 5):
            before = anchor.path.read_bytes()
            anchor.advance(wide(sequence, 3))
            steps.append(anchor.path.read_bytes())
            assert len(before) == len(steps[-1])
        size = 52 + 8 + 3 * 64 + 32
        first = 2 * BLOCK + 52 + 3 * 56 + 32
        forged = bytearray(steps[2])
        forged[first + size : first + 2 * size] = forged[first : first + size]  # the second is the first again
        anchor.path.write_bytes(bytes(forged))
        with pytest.raises(LedgerCorrupt):
            Anchor(anchor.path, anchor.key).read()

    check()
    monkeypatch.setattr(marks_module, "digest", lambda key, purpose, *texts: keyed(key, purpose, texts[-1]))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check()


def test_the_mark_of_an_older_dither(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read, and stays until the file is made anew, all at once."""
    folder = written(1)
    old = Anchor(folder / "ledger.anchor", (folder / "ledger.key").read_bytes())
    first = old.read()
    assert (first.sequence, first.totals) == (17, None)
    before = old.path.read_bytes()

    def fails(*_: object) -> None:
        raise OSError("power")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails)
        with pytest.raises((OSError, LedgerError)):
            old.advance(wide(18, 3))
    assert old.path.read_bytes() == before
    assert (old.read(), old.read().totals) == (first, None)
    old.advance(wide(18, 3))
    assert old.read().totals == wide(18, 3).totals


def test_two_slots_are_read_as_they_were_written(anchor: Anchor) -> None:
    """As dithers of versions 3 and 4 wrote them: the newest that is authentic."""
    slots = [marks_module.packed(anchor.key, wide(sequence, 3), marks_module.SLOT) for sequence in (8, 9)]
    for content, sequence in (
        (slots, 9),
        (slots[::-1], 9),
        ([slots[0], slots[1][:-1] + b"x"], 8),
        ([slots[0], b""], 8),
    ):
        anchor.path.write_bytes(b"".join(slot.ljust(BLOCK, b"\0") for slot in content))
        assert Anchor(anchor.path, anchor.key).read().totals == wide(sequence, 3).totals
    anchor.advance(wide(10, 3))
    assert anchor.read().totals == wide(10, 3).totals


def test_a_file_that_was_cut_is_refused_and_one_that_grew_is_read(anchor: Anchor) -> None:
    for accounts in (3, 2000):
        anchor.create(wide(2, accounts))
        for _ in range(2):
            anchor.advance(one_more(anchor.read(), 1))
        content = anchor.path.read_bytes()
        anchor.path.write_bytes(content + bytes(5000))
        assert anchor.read().sequence == 4
        end = len(content.rstrip(b"\0"))
        for cut in (1, 100, end - 2 * BLOCK, end - 1, end):
            anchor.path.write_bytes(content[: max(end - cut, 0)])
            if cut < 100:
                assert anchor.read().sequence == 3
            elif cut > 300:
                with pytest.raises(LedgerCorrupt):
                    anchor.read()


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


def check_others_are_seen(path: Path) -> None:
    """What another process wrote, or an older copy that took the place, is not taken for what was seen before."""
    here, there = Anchor(path, bytes(32)), Anchor(path, bytes(32))
    here.create(mark(1))
    for sequence in range(2, 9):
        writer, reader = (here, there) if sequence % 3 else (there, here)
        writer.advance(mark(sequence))
        assert reader.read() == mark(sequence)
        assert reader.advance(mark(sequence - 1)) == mark(sequence)
    older = path.read_bytes()
    here.advance(Mark(9, bytes(32), (bytes(56),)))
    path.write_bytes(older)
    assert here.read() == mark(8)
    assert there.read() == mark(8)
    path.write_bytes(bytes(len(older)))
    for anchor in (here, there):
        with pytest.raises(LedgerCorrupt):
            anchor.read()


def test_what_others_wrote_is_seen(tmp_path: Path) -> None:
    check_others_are_seen(tmp_path / "ledger.anchor")


def test_planted_bug_what_was_seen_before_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = Anchor._look

    def believed(self: Anchor) -> Any:
        return self._seen.get("") or look(self)

    monkeypatch.setattr(Anchor, "_look", believed)
    with pytest.raises(AssertionError):
        check_others_are_seen(tmp_path / "ledger.anchor")
