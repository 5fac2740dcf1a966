"""Threats 20, 21 and 44: a ledger edited, cut or rolled back is refused, or reads back exactly as it was."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger import Charge, Ledger, book, chain, journal, kinds, page, totals
from dither.ledger.storage import marks
from dither.ledger.storage.anchor import Anchor, Mark
from dither.ledger.storage.schema import STATEMENTS

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
Ask = Callable[..., bytes]
Damage = Callable[[Path], None]
QUESTIONS = 4
PRICE = Fraction(1, 10)
LOWEST = Charge(Fraction(1, 1000))


def observe(ledger: Ledger) -> Any:
    """Everything a ledger tells."""
    return (
        [(name, ledger.balance(*name), dict(ledger.terms(*name))) for name in ledger.accounts()],
        list(ledger.entries()),
        ledger.pending(),
        [ledger.find("patients", "alice", f"q{number}", "1", LOWEST) for number in range(QUESTIONS)],
        (ledger.breaker.incidents(), ledger.breaker.frozen()),
    )


def copies(folder: Path, place: Path, *, name: str, damages: Iterator[Damage]) -> Iterator[Path]:
    """The folder again and again, each time with one file damaged."""
    for damage in damages:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder, place)
        damage(place / name)
        yield place


def flips(size: int, stride: int, start: int = 0) -> Iterator[Damage]:
    for offset in range(start, size, stride):

        def damage(path: Path, offset: int = offset) -> None:
            with open(path, "r+b") as file:
                file.seek(offset)
                (byte,) = file.read(1)
                file.seek(offset)
                file.write(bytes([byte ^ (1 << offset % 8)]))

        yield damage


def cuts(size: int, stride: int, start: int = 0) -> Iterator[Damage]:
    for length in range(start, size, stride):
        yield lambda path, length=length: os.truncate(path, length)


def check_refused_or_same(folders: Iterator[Path], truth: Any) -> tuple[int, int]:
    """Each damaged ledger is refused, or all of it reads back the same; how many were refused, and of how many.

    Even without the full walk, no account ever has more left than it should.
    """
    refused = total = 0
    for folder in folders:
        total += 1
        try:
            with Ledger.open(folder) as ledger:
                balances = [(name, ledger.balance(*name)) for name in ledger.accounts()]
                assert balances == [row[:2] for row in truth[0]], "more budget than there is"
                ledger.verify()
                assert observe(ledger) == truth, "changed, and not noticed"
        except LedgerError:
            refused += 1
    return refused, total


@pytest.fixture
def filled(clinic: Path, ask: Ask, leave_in_wal: Any) -> Path:
    """Two questions in the database file, two more and an open reservation, which was late, in the write-ahead log."""
    with Ledger.open(clinic) as ledger:
        for number in range(2):
            ask(ledger, None, f"q{number}")
        late = ledger.reserve("patients", "alice", Charge(PRICE), question="open", snapshot="1", plan="{}")
        ledger.breaker.incident(late.id, "late", most=9)
    leave_in_wal(clinic, 0)
    leave_in_wal(clinic, QUESTIONS)
    assert (clinic / "ledger.sqlite-wal").stat().st_size > 4096
    (clinic / "ledger.sqlite-shm").unlink()
    return clinic


@pytest.fixture
def tidy(filled: Path, tmp_path: Path) -> Path:
    """The same ledger, closed properly: all in the database file."""
    shutil.copytree(filled, tmp_path / "tidy")
    Ledger.open(tmp_path / "tidy").close()
    assert not (tmp_path / "tidy" / "ledger.sqlite-wal").exists()
    return tmp_path / "tidy"


@pytest.fixture
def truth(tidy: Path) -> Any:
    with Ledger.open(tidy) as ledger:
        return observe(ledger)


@pytest.mark.parametrize(
    ("name", "stride"), [("ledger.sqlite", 89), ("ledger.sqlite-wal", 127), ("ledger.anchor", 331), ("ledger.key", 1)]
)
def test_flipped_bits(
    name: str, stride: int, filled: Path, tidy: Path, truth: Any, fast: Path, tally: Any, every: Any
) -> None:
    folder = tidy if name == "ledger.sqlite" else filled
    size = (folder / name).stat().st_size
    damages = flips(size, every(stride))
    refused, total = check_refused_or_same(copies(folder, fast / "copy", name=name, damages=damages), truth)
    tally(flips=total)
    assert total >= 32
    # An anchor has room for steps; of the rest a good part is empty space inside pages.
    assert refused == total if name == "ledger.key" else refused > 0 or name == "ledger.anchor"


@pytest.mark.parametrize(
    ("name", "stride"), [("ledger.sqlite", 509), ("ledger.sqlite-wal", 499), ("ledger.anchor", 509)]
)
def test_cut_anywhere(
    name: str, stride: int, filled: Path, tidy: Path, truth: Any, fast: Path, tally: Any, every: Any
) -> None:
    """A lost write looks the same: after it the ledger is behind its anchor."""
    folder = tidy if name == "ledger.sqlite" else filled
    damages = cuts((folder / name).stat().st_size, every(stride))
    refused, total = check_refused_or_same(copies(folder, fast / "copy", name=name, damages=damages), truth)
    tally(cuts=total)
    assert total > 70
    assert refused == total if name != "ledger.anchor" else refused > 0


def plans(path: Path) -> Iterator[Damage]:
    """Flips in the recorded plans, which nothing but the seals protects."""
    content = path.read_bytes()
    places = [match.end() - 2 for match in re.finditer(rb'"plan":"{}"', content)]
    assert len(places) >= QUESTIONS
    return (flip for place in places for flip in flips(place + 1, 1, start=place))


def test_flipped_plans(tidy: Path, truth: Any, tmp_path: Path) -> None:
    damaged = copies(tidy, tmp_path / "copy", name="ledger.sqlite", damages=plans(tidy / "ledger.sqlite"))
    refused, total = check_refused_or_same(damaged, truth)
    assert refused == total


def test_unchecked_seals_are_caught(tidy: Path, truth: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: MACs are stored, but any value passes."""
    monkeypatch.setattr(page, "authentic", lambda _, __, row: chain.Link(*row))
    damaged = copies(tidy, tmp_path / "copy", name="ledger.sqlite", damages=plans(tidy / "ledger.sqlite"))
    with pytest.raises(AssertionError, match="changed, and not noticed"):
        check_refused_or_same(damaged, truth)


def check_rollback_refused(clinic: Path, tmp_path: Path, ask: Ask) -> None:
    """Every earlier copy of the database is refused once more has happened."""
    backups = []
    with Ledger.open(clinic) as ledger:
        ledger.verify()
    for number in range(3):
        backups.append(tmp_path / f"backup{number}")
        shutil.copytree(clinic, backups[-1])
        with Ledger.open(clinic) as ledger:
            charge = Charge(PRICE)
            reservation = ledger.reserve("patients", "alice", charge, question="q", snapshot="1", plan="{}")
        backups.append(tmp_path / f"reserved{number}")
        shutil.copytree(clinic, backups[-1])
        with Ledger.open(clinic) as ledger:
            ledger.settle(reservation.id, b"noisy")
    for backup in backups:
        shutil.copy(backup / "ledger.sqlite", clinic / "ledger.sqlite")
        accepted = True
        try:
            Ledger.open(clinic).close()
        except LedgerCorrupt:
            accepted = False
        assert not accepted, "an old copy was accepted"


def test_an_old_copy_is_refused(clinic: Path, tmp_path: Path, ask: Ask) -> None:
    """Threat 20. Also a copy from between charge and answer: its question would be answered twice."""
    check_rollback_refused(clinic, tmp_path, ask)


def test_an_unchecked_anchor_is_caught(clinic: Path, tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the anchor is written, but nobody looks."""
    monkeypatch.setattr(journal.Journal, "hold_to", lambda *_: None)
    monkeypatch.setattr(Anchor, "advance", lambda _, mark, check: mark)
    with pytest.raises(AssertionError, match="an old copy was accepted"):
        check_rollback_refused(clinic, tmp_path, ask)


def test_rolled_back_while_open(clinic: Path, tmp_path: Path, ask: Ask) -> None:
    shutil.copytree(clinic, tmp_path / "backup")
    with Ledger.open(clinic) as ledger:
        ask(ledger)
    old = Ledger.open(clinic)
    old._journal._store._disconnect()
    shutil.copy(tmp_path / "backup" / "ledger.sqlite", clinic / "ledger.sqlite")
    with pytest.raises(LedgerError, match="lost entries while it was open"):
        ask(old)
    old._journal._trusted, old._journal._anchored = None, 0  # as if it had only just been opened
    with pytest.raises(LedgerError, match="its anchor has seen"):
        ask(old)
    old.close()


def execute(folder: Path, *statements: str) -> None:
    """An intruder without the key, who covers the tracks."""
    connection = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
    triggers = [text for text in STATEMENTS if "TRIGGER" in text]
    for text in [f"DROP TRIGGER {text.split()[2]}" for text in triggers] + list(statements) + triggers:
        connection.execute(text)
    connection.close()


def make_again(folder: Path) -> None:
    """A ledger made by the broken code under test."""
    shutil.rmtree(folder)
    with Ledger.open(folder, create=True) as ledger:
        for analyst in (None, "alice"):
            ledger.open_account("patients", analyst, kind="pure", cap=Charge(Fraction(1)), terms={})


def check_edited_accounts_refused(clinic: Path, ask: Ask) -> None:
    """Whoever lowers what was spent, raises a cap or reopens a reservation gains nothing, open or closed."""
    with Ledger.open(clinic) as ledger:
        for number in range(5):
            ask(ledger, None, f"q{number}")
    for edit, undo in (
        ("UPDATE accounts SET spent = 0", "UPDATE accounts SET spent = 500000000000000"),
        ("UPDATE accounts SET cap = cap * 2", "UPDATE accounts SET cap = cap / 2"),
        ("UPDATE reservations SET settled = NULL WHERE id = 4", "UPDATE reservations SET settled = 5 WHERE id = 4"),
    ):
        execute(clinic, edit)
        try:
            with Ledger.open(clinic) as ledger:
                raise AssertionError(f"accepted after {edit}: {ledger.balance('patients')}")
        except LedgerError:
            execute(clinic, undo)
    with Ledger.open(clinic) as ledger:
        execute(clinic, "UPDATE accounts SET spent = 0")
        with pytest.raises(LedgerCorrupt, match="changed behind the ledger"):
            ask(ledger, None, "more")
        assert ledger.balance("patients").left.cost == Fraction(1, 2)


def test_edited_accounts_are_refused(clinic: Path, ask: Ask) -> None:
    check_edited_accounts_refused(clinic, ask)


def test_trusting_the_tables_is_caught(clinic: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the tables are not held against the chain; the anchor alone still knows what was spent."""
    monkeypatch.setattr(book.Book, "commitment", lambda *_: bytes(32))
    make_again(clinic)
    with pytest.raises(AssertionError, match="accepted after UPDATE reservations SET settled = NULL"):
        check_edited_accounts_refused(clinic, ask)


def check_forgery_refused(clinic: Path, ask: Ask) -> None:
    """An intruder who knows every algorithm, but not the key, drops the last charge and seals the rest anew."""
    with Ledger.open(clinic) as ledger:
        ask(ledger)
    guess = bytes(32)
    forged = book.Book()
    connection = sqlite3.connect(clinic / "ledger.sqlite")
    rows = connection.execute(
        "SELECT sequence, kind, body FROM entries WHERE sequence <= 3 ORDER BY sequence"
    ).fetchall()
    connection.close()
    mac, edits = chain.NO_SEAL, ["DELETE FROM entries", "DELETE FROM reservations", "DELETE FROM answers"]
    edits += ["DELETE FROM stored", "UPDATE accounts SET spent = 0"]
    for sequence, kind, body in rows:
        forged.apply(chain.Link(sequence, kinds.VERSION, kind, body, b"", b""))
        link = chain.seal(guess, mac, sequence, kind, body, forged.commitment(guess, kinds.VERSION))
        mac = link.mac
        edits.append(
            f"INSERT INTO entries VALUES ({sequence}, {kinds.VERSION}, '{kind}', '{body}', x'{link.state.hex()}',"
            f" x'{mac.hex()}')"
        )
    execute(clinic, *edits)
    (clinic / "ledger.anchor").unlink()
    Anchor(clinic / "ledger.anchor", guess).create(Mark(3, mac))
    try:
        with Ledger.open(clinic) as ledger:
            raise AssertionError(f"a forgery was accepted: {ledger.verify()} entries")
    except LedgerError:
        return


def test_a_forgery_without_the_key_is_refused(clinic: Path, ask: Ask) -> None:
    check_forgery_refused(clinic, ask)


def test_seals_without_a_key_are_caught(clinic: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a plain digest instead of a keyed MAC."""
    keyed = chain.digest
    for module in (chain, book, marks, totals):
        monkeypatch.setattr(module, "digest", lambda _, *fields: keyed(b"", *fields))
    make_again(clinic)
    with pytest.raises(AssertionError, match="a forgery was accepted: 3 entries"):
        check_forgery_refused(clinic, ask)
