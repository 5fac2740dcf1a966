"""A lost or rolled-back disk is counted as spent: no budget is overrun, and no charge buys two draws of noise."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import BudgetExceeded, LedgerCorrupt, LedgerError, PeopleFrozen, PolicyError, QueryFailed
from dither.ledger import Charge, Ledger, restore
from dither.ledger.book import Book
from dither.ledger.chain import digest
from dither.ledger.restore import count_as_spent
from dither.ledger.storage.anchor import Anchor, Mark
from dither.ledger.totals import Total, parted, unpack
from dither.ledger.units import NOTHING, Units

Ask = Callable[..., bytes]
NAMES = [("patients", None), ("patients", "alice"), ("staff", None), ("staff", "bob")]
STAFF: dict[str, Any] = {"kind": "basic", "cap": Charge(Fraction(4), Fraction("1e-6")), "terms": {"delta": "1e-6"}}
BOB: dict[str, Any] = {"kind": "basic", "cap": Charge(Fraction(4), Fraction("1e-6")), "terms": {}}


def open_staff(ledger: Ledger) -> None:
    ledger.open_account("staff", None, **STAFF)
    ledger.open_account("staff", "bob", **BOB)


def lose(folder: Path, copy: Path) -> None:
    """The disk is gone but for the key and the anchor, and a copy of the rest comes back."""
    kept = {name: (folder / name).read_bytes() for name in ("ledger.anchor", "ledger.key")}
    shutil.rmtree(folder)
    if copy.exists():
        shutil.copytree(copy, folder)
    else:
        folder.mkdir(mode=0o700)
    for name, content in kept.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)


@pytest.fixture
def lost(ledger: Ledger, folder: Path, tmp_path: Path, ask: Ask, reserve: Any) -> Path:
    """A copy with an answer and two open reservations, one of which was answered before the disk was lost."""
    open_staff(ledger)
    ask(ledger, question="kept", request="kept")
    reserve(ledger, question="answered later", request="later", cost="1/8")
    reserve(ledger, question="never answered", request="never", cost="1/8")
    ledger.close()
    shutil.copytree(folder, tmp_path / "copy")
    with Ledger.open(folder) as again:
        again.settle(again.requested("patients", "alice", "later").id, b"released")
        ask(again, "alice", "3/8", question="lost")
        ask(again, None, "1", question="lost")
        ask(again, "bob", "1", people="staff", delta="1/3000000", question="lost")
    return folder


def spent(folder: Path) -> dict[Any, Charge]:
    with Ledger.open(folder) as ledger:
        return {name: ledger.balance(*name).spent for name in ledger.accounts()}


def check_restored(folder: Path, copy: Path, ask: Ask, reserve: Any) -> None:
    """Everything the lost ledger had spent is spent; nobody can have more in all than the caps."""
    truth = spent(folder)
    lose(folder, copy)
    with pytest.raises(LedgerCorrupt, match="rolled back or cut"):
        Ledger.open(folder)
    Ledger.restore(folder)
    with Ledger.open(folder) as ledger:
        ledger.verify()
        assert {name: ledger.balance(*name).spent for name in truth} == truth, "less than was spent"
        assert ledger.pending() == [], "an open reservation may have been answered"
        for request in ("later", "never"):
            with pytest.raises(QueryFailed):
                ledger.settle(ledger.requested("patients", "alice", request).id, b"another draw")
        assert ledger.find("patients", "alice", "kept", "1", Charge(Fraction(1, 4))) is not None
        assert ledger.find("patients", "alice", "lost", "1", Charge(Fraction(1, 4))) is None
        with pytest.raises(PeopleFrozen):
            reserve(ledger, cost="1/8", question="new")
        for people in ("patients", "staff"):
            ledger.breaker.thaw(people)
        with pytest.raises(BudgetExceeded):
            reserve(ledger, cost="1/4", question="new")
        ask(ledger, cost="1/8", question="new")
        ledger.verify()
    with Ledger.open(folder) as again:
        assert again.balance("patients", "alice").left.cost == 0


def test_an_older_copy_goes_on_as_if_all_were_spent(lost: Path, tmp_path: Path, ask: Ask, reserve: Any) -> None:
    check_restored(lost, tmp_path / "copy", ask, reserve)


@pytest.mark.parametrize(
    ("part", "broken", "words"),
    [
        ("unpack", lambda content: [], "seen an account spend more"),
        ("end_open", lambda page: None, "an open reservation may have been answered"),
        ("freeze_all", lambda page: None, "DID NOT RAISE"),
    ],
)
def test_planted_generous_restores(
    lost: Path,
    tmp_path: Path,
    ask: Ask,
    reserve: Any,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    broken: Any,
    words: str,
) -> None:
    """Planted bugs: totals are forgotten, reservations stay open, people stay thawed."""
    monkeypatch.setattr(restore, part, broken)
    with pytest.raises((AssertionError, LedgerCorrupt, pytest.fail.Exception), match=words):
        check_restored(lost, tmp_path / "copy", ask, reserve)


def check_counted_when_opened_again(folder: Path, truth: dict[Any, Charge]) -> None:
    """Accounts of which nothing is left but what the anchor has seen."""
    with Ledger.open(folder) as ledger:
        for name in [name for name in NAMES if name not in ledger.accounts()]:
            opening = dict(zip(NAMES, (PATIENTS, ALICE, STAFF, BOB), strict=True))[name]
            for change in ({"cap": Charge(Fraction(3), opening["cap"].delta)}, {"terms": {"other": "terms"}}):
                with pytest.raises(PolicyError, match="had other terms"):
                    ledger.open_account(*name, **opening | change)
            ledger.open_account(*name, **opening)
            assert ledger.balance(*name).spent == truth[name], "less than was spent"
        ledger.open_account("others", None, **PATIENTS)
        assert not ledger.balance("others").spent.cost
        ledger.verify()
    assert {name: charge for name, charge in spent(folder).items() if name in truth} == truth


PATIENTS: dict[str, Any] = {"kind": "pure", "cap": Charge(Fraction(4)), "terms": {"epsilon": "4"}}
ALICE: dict[str, Any] = {"kind": "pure", "cap": Charge(Fraction(1)), "terms": {"epsilon": "1"}}


def test_without_any_copy_budgets_are_opened_again_as_spent(lost: Path, tmp_path: Path) -> None:
    truth = spent(lost)
    lose(lost, tmp_path / "nothing")
    Ledger.restore(lost)
    assert spent(lost) == {}
    check_counted_when_opened_again(lost, truth)


def check_lost_people_start_frozen(folder: Path, ask: Ask, reserve: Any) -> None:
    """They may have been frozen when all but the anchor was lost; so nothing is answered until they are thawed."""
    with Ledger.open(folder) as ledger:
        ledger.open_account("patients", None, **PATIENTS)
        ledger.open_account("patients", "alice", **ALICE)
        ledger.open_account("others", None, **PATIENTS)
        with pytest.raises(PeopleFrozen):
            reserve(ledger, cost="1/8")
        ask(ledger, None, "1/8", people="others")
    with Ledger.open(folder) as again:
        assert again.breaker.frozen() == {"patients"}
        again.verify()
        again.breaker.thaw("patients")
        ask(again, cost="1/8")
    with Ledger.open(folder) as again:
        assert again.breaker.frozen() == frozenset()
        again.verify()


def test_people_of_whom_nothing_is_left_start_frozen(lost: Path, tmp_path: Path, ask: Ask, reserve: Any) -> None:
    with Ledger.open(lost) as ledger:
        ledger.breaker.freeze("patients")
    lose(lost, tmp_path / "nothing")
    Ledger.restore(lost)
    check_lost_people_start_frozen(lost, ask, reserve)


def test_planted_bug_a_lost_freeze_is_forgotten(
    lost: Path, tmp_path: Path, ask: Ask, reserve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(lost, tmp_path / "nothing")
    Ledger.restore(lost)
    note = Book.note
    monkeypatch.setattr(Book, "note", lambda book, link: None if link.kind == "account" else note(book, link))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_lost_people_start_frozen(lost, ask, reserve)


def test_planted_lost_accounts_forgotten(lost: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = spent(lost)
    lose(lost, tmp_path / "nothing")
    Ledger.restore(lost)
    seen = Book.seen
    monkeypatch.setattr(Book, "seen", lambda book, account: seen(book, account) and NOTHING)
    with pytest.raises(AssertionError, match="less than was spent"):
        check_counted_when_opened_again(lost, truth)


@pytest.mark.parametrize("reopened", [0, 1, 2])
def test_lost_twice(lost: Path, tmp_path: Path, reopened: int) -> None:
    """What was not opened again before the second loss is not forgotten; nor is what was."""
    truth = spent(lost)
    lose(lost, tmp_path / "nothing")
    Ledger.restore(lost)
    with Ledger.open(lost) as ledger:
        for name, opening in list(zip(NAMES, (PATIENTS, ALICE), strict=False))[:reopened]:
            ledger.open_account(*name, **opening)
    lose(lost, tmp_path / "nothing")
    Ledger.restore(lost)
    check_counted_when_opened_again(lost, truth)


def test_accounts_opened_since_the_copy(ledger: Ledger, folder: Path, tmp_path: Path, ask: Ask) -> None:
    ask(ledger)
    ledger.close()
    shutil.copytree(folder, tmp_path / "copy")
    with Ledger.open(folder) as again:
        open_staff(again)
        ask(again, "bob", "1", people="staff", delta="1/3000000")
    truth = spent(folder)
    lose(folder, tmp_path / "copy")
    Ledger.restore(folder)
    assert spent(folder) == {name: truth[name] for name in NAMES[:2]}
    check_counted_when_opened_again(folder, truth)


def test_what_was_lost_stays_refused_when_it_is_found_again(lost: Path, tmp_path: Path, ask: Ask) -> None:
    shutil.copytree(lost, tmp_path / "found")
    lose(lost, tmp_path / "copy")
    Ledger.restore(lost)
    for other in (tmp_path / "found", tmp_path / "copy"):
        shutil.copy(other / "ledger.sqlite", lost / "ledger.sqlite")
        with pytest.raises(LedgerCorrupt, match=r"rolled back or cut|not the one its anchor has seen"):
            Ledger.open(lost)


def test_entries_keep_their_numbers(lost: Path, tmp_path: Path) -> None:
    """No number of a lost entry is given again: the restore comes after the anchor's mark."""
    with Ledger.open(lost) as ledger:
        newest = list(ledger.entries())[-1].sequence
    lose(lost, tmp_path / "copy")
    Ledger.restore(lost)
    with Ledger.open(lost) as ledger:
        entries = list(ledger.entries())
        (number,) = [entry.sequence for entry in entries if entry.kind == "restore"]
        assert number == newest + 1
        assert ledger.verify() == len(entries) < entries[-1].sequence


def test_only_what_is_behind_is_restored(lost: Path, tmp_path: Path, written: Any) -> None:
    with pytest.raises(LedgerError, match="not behind its anchor"):
        Ledger.restore(lost)
    lose(lost, tmp_path / "copy")
    key = (lost / "ledger.key").read_bytes()
    (lost / "ledger.key").unlink()
    with pytest.raises(LedgerError, match=r"key .* is missing"):
        Ledger.restore(lost)
    (lost / "ledger.key").write_bytes(bytes(32))
    (lost / "ledger.key").chmod(0o600)
    with pytest.raises(LedgerCorrupt, match="damaged or belongs to another"):
        Ledger.restore(lost)
    (lost / "ledger.key").write_bytes(key)
    with pytest.raises(LedgerError, match="made with its own anchor"):
        Ledger.restore(lost, anchor=(lost / "ledger.anchor").rename(lost / "elsewhere"))
    (lost / "elsewhere").rename(lost / "ledger.anchor")
    Ledger.restore(lost)
    with pytest.raises(LedgerError, match="not behind its anchor"):
        Ledger.restore(lost)


def test_without_a_key_nothing_is_made(lost: Path, tmp_path: Path) -> None:
    lose(lost, tmp_path / "nothing")
    (lost / "ledger.key").unlink()
    with pytest.raises(LedgerError, match=r"key .* is missing"):
        Ledger.restore(lost)
    assert not (lost / "ledger.sqlite").exists()


def behind_an_older_anchor(folder: Path) -> None:
    """The ledger is older than an anchor that has no totals."""
    key = (folder / "ledger.key").read_bytes()
    text = b"ditherA1" + (100).to_bytes(8, "big") + bytes(32)
    (folder / "ledger.anchor").write_bytes((text + digest(key, b"anchor", text)).ljust(8192, b"\0"))


def check_everything_is_spent(folder: Path) -> None:
    Ledger.restore(folder)
    with Ledger.open(folder) as ledger:
        for account in ledger.accounts():
            assert ledger.balance(*account).left == Charge(Fraction(0)), account
        with pytest.raises(PolicyError, match="had other terms"):
            ledger.open_account("strangers", None, kind="pure", cap=Charge(Fraction(1)), terms={})
        ledger.verify()


def test_behind_an_anchor_of_an_older_dither_everything_is_spent(written: Any) -> None:
    """Such an anchor does not say what was spent, nor by whom: nobody new gets a budget here either."""
    folder = written(2)
    behind_an_older_anchor(folder)
    check_everything_is_spent(folder)


def test_behind_an_anchor_of_an_older_dither_nothing_is_opened_again(written: Any) -> None:
    folder = written(2)
    (folder / "ledger.sqlite").unlink()
    check_everything_is_spent(folder)
    assert spent(folder) == {}


def test_planted_an_older_anchor_forgives(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: an anchor without totals is taken for one that has seen nothing."""
    monkeypatch.setattr(
        restore, "count_as_spent", lambda page, mark, real=count_as_spent: real(page, replace(mark, parts=()))
    )
    monkeypatch.setattr("dither.ledger.ledger.count_as_spent", restore.count_as_spent)
    folder = written(2)
    behind_an_older_anchor(folder)
    with pytest.raises(AssertionError):
        check_everything_is_spent(folder)


@pytest.mark.parametrize("version", [1, 2])
def test_a_copy_of_an_older_dither(written: Any, version: int, tmp_path: Path, ask: Ask) -> None:
    folder: Path = written(version)
    shutil.copytree(folder, tmp_path / "copy")
    with Ledger.open(folder) as ledger:
        ask(ledger, "alice", "1/8", question="lost")
    truth = spent(folder)
    lose(folder, tmp_path / "copy")
    with pytest.raises(LedgerCorrupt, match="rolled back or cut"):
        Ledger.open(folder)
    Ledger.restore(folder)
    assert spent(folder) == truth
    with Ledger.open(folder) as ledger:
        ledger.verify()
        assert [entry.kind for entry in ledger.entries() if entry.kind in ("upgraded", "restore")] == [
            "upgraded",
            "restore",
        ]


def test_never_below_the_copys_own(ledger: Ledger, folder: Path, ask: Ask) -> None:
    ask(ledger, cost="1/2")
    ledger.close()
    truth = spent(folder)
    anchor = Anchor(folder / "ledger.anchor", (folder / "ledger.key").read_bytes())
    less = [Total(total.opened, Units(1, 0), total.identity) for total in unpack(anchor.read().totals or b"")]
    anchor.create(Mark(100, bytes(32), parted(b"".join(total.packed for total in less))))
    Ledger.restore(folder)
    assert spent(folder) == truth


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda total: Total(total.opened, total.spent, total.identity[:16] + bytes(16)), "under other terms"),
    ],
)
def test_totals_that_cannot_be(ledger: Ledger, folder: Path, change: Any, words: str) -> None:
    ledger.close()
    anchor = Anchor(folder / "ledger.anchor", (folder / "ledger.key").read_bytes())
    wrong = b"".join(change(total).packed for total in unpack(anchor.read().totals or b""))
    anchor.create(Mark(100, bytes(32), parted(wrong)))
    with pytest.raises(LedgerCorrupt, match=words):
        Ledger.restore(folder)
    with pytest.raises(LedgerCorrupt, match="rolled back or cut"):
        Ledger.open(folder)


def test_an_anchor_that_has_seen_more_than_the_ledger_is_refused(ledger: Ledger, folder: Path, ask: Ask) -> None:
    ask(ledger)
    ledger.close()
    anchor = Anchor(folder / "ledger.anchor", (folder / "ledger.key").read_bytes())
    mark = anchor.read()
    more = [
        Total(total.opened, total.spent + Units(1, 0), total.identity).packed for total in unpack(mark.totals or b"")
    ]
    anchor.create(Mark(mark.sequence, mark.mac, parted(b"".join(more))))
    with pytest.raises(LedgerCorrupt, match="seen an account spend more"):
        Ledger.open(folder)


def test_an_anchor_elsewhere(tmp_path: Path, ask: Ask) -> None:
    folder, anchor = tmp_path / "clinic", tmp_path / "safe" / "anchor"
    anchor.parent.mkdir(mode=0o700)
    with Ledger.open(folder, anchor=anchor, create=True) as ledger:
        ledger.open_account("patients", None, **PATIENTS)
        shutil.copytree(folder, tmp_path / "copy")
        ask(ledger, None, "1/2")
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)
    Ledger.restore(folder, anchor=anchor)
    with Ledger.open(folder, anchor=anchor) as ledger:
        assert ledger.balance("patients").spent.cost == Fraction(1, 2)
        ledger.verify()
