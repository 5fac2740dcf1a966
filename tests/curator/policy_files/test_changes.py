"""A policy file that changed: first shown, then done, each change an entry; nothing rises without the officer's key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dither as dt
from dither.curator.policy_files import application
from dither.ledger.officer.orders import make_key

FILE = """
[people.buyers]
epsilon = 4
delta = 1e-6

[people.buyers.analysts.alice]
epsilon = 1

[people.buyers.analysts.bob]
epsilon = 1
"""
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*changes: tuple[str, str]) -> Path:
        text = FILE
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (tmp_path / "shop.toml").write_text(text)
        return tmp_path / "shop.toml"

    return write


@pytest.fixture
def shop(tmp_path: Path, write: Write) -> Iterator[dt.Curator]:
    with dt.Curator.open(tmp_path / "shop") as shop:
        shop.apply(write())
        shop.officer.enrol(make_key(tmp_path / "officer.pem"))
        yield shop


NEXT = [
    ("epsilon = 4", "epsilon = 6"),
    ("alice]\nepsilon = 1", "alice]\nepsilon = 2"),
    ("bob]\nepsilon = 1", "bob]\nepsilon = 0.5\nfrozen = true"),
]
SAID = [
    "bob (of buyers): frozen",
    "bob (of buyers): lowered from epsilon 1, delta 2.5e-7 to epsilon 0.5, delta 2.5e-7",
    "buyers: raised from epsilon 4, delta 1e-6 to epsilon 6, delta 1e-6, by the officer's signature",
    "alice (of buyers): raised from epsilon 1, delta 2.5e-7 to epsilon 2, delta 2.5e-7, by the officer's signature",
]


def entries(shop: dt.Curator) -> list[str]:
    return [entry.kind for entry in shop.ledger()]


def test_planned_and_then_done(shop: dt.Curator, write: Write, tmp_path: Path) -> None:
    file, before = write(*NEXT), entries(shop)
    assert str(shop.plan(file)).splitlines() == SAID
    assert entries(shop) == before, "a plan changes nothing"
    applied = shop.apply(file, reason="2027", key=tmp_path / "officer.pem")
    assert list(map(str, applied.changed)) == SAID
    assert entries(shop)[len(before) :] == ["freeze", "lower", "grant", "grant"]
    assert str(shop.plan(file)) == "nothing changes"
    assert shop.apply(file).changed == ()
    epsilons = [shop.budget("buyers", name).total.epsilon for name in (None, "alice", "bob")]
    assert epsilons == [6, 2, dt.PureDP("0.5").epsilon]
    shop.verify()


def check_nothing_rises_without_the_key(shop: dt.Curator, file: Path) -> None:
    before = entries(shop)
    with pytest.raises(dt.SignatureRefused):
        shop.apply(file, reason="2027")
    assert entries(shop) == before, "all or nothing"


def test_nothing_rises_without_the_key(shop: dt.Curator, write: Write) -> None:
    check_nothing_rises_without_the_key(shop, write(*NEXT))


def test_planted_done_by_halves(shop: dt.Curator, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: whether a key is needed is found out on the way."""

    def hasty(plan: object, granted: object, changing: application.Changing) -> object:
        found = application.changes(plan, changing.officer, granted)  # type: ignore[arg-type]
        for change in found:
            change.make(changing.officer, changing.reason or "", changing.key)
        return found

    monkeypatch.setattr(application, "_changed", hasty)
    with pytest.raises(AssertionError, match="all or nothing"):
        check_nothing_rises_without_the_key(shop, write(*NEXT))


def test_without_a_reason_a_difference_is_refused(shop: dt.Curator, write: Write) -> None:
    with pytest.raises(dt.PolicyError, match="changed only by `dither apply`, with a reason"):
        shop.apply(write(NEXT[0]))


def test_closing_and_thawing(shop: dt.Curator, write: Write) -> None:
    closed = ("bob]\nepsilon = 1", "bob]\nepsilon = 1\nclosed = true")
    shop.freeze("buyers")
    frozen = ("delta = 1e-6\n", "delta = 1e-6\nfrozen = false\n")
    assert str(shop.plan(write(closed, frozen))).splitlines() == ["bob (of buyers): closed for good", "buyers: thawed"]
    shop.apply(write(closed, frozen), reason="bob leaves")
    assert (shop.budget("buyers").state, shop.budget("buyers", "bob").state) == ("open", "closed for good")
    assert str(shop.plan(write(closed))) == "nothing changes"
    assert str(shop.plan(write(("bob]\nepsilon = 1", "bob]\nepsilon = 3")))) == "nothing changes", "it is closed"
    with pytest.raises(dt.PolicyError, match=r"bob: .*is closed for good"):
        shop.plan(write(("bob]\nepsilon = 1", "bob]\nepsilon = 1\nclosed = false")))


def test_nobody_is_closed_before_being_there(tmp_path: Path, write: Write) -> None:
    file = write(("bob]\nepsilon = 1", "bob]\nepsilon = 1\nclosed = true"))
    with dt.Curator.open(tmp_path / "new") as new, pytest.raises(dt.PolicyError, match="not there yet"):
        new.plan(file)


def test_another_kind_is_no_change(shop: dt.Curator, write: Write) -> None:
    with pytest.raises(dt.PolicyError, match="has another budget"):
        shop.apply(write(("delta = 1e-6", 'delta = 1e-6\ncomposition = "basic"')), reason="x")
