"""Threat 60: whatever others spend, all that an analyst observes is the same, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threats_clinic import COUNT, open_clinic

from dither.accounting import ApproxDP, PureDP
from dither.cli.main import main
from dither.curator.accounts import Accounts
from dither.curator.analyst import Analyst
from dither.curator.budgets import too_expensive
from dither.curator.service import Service
from dither.errors import DitherError, PolicyError
from dither.ledger import Ledger, caps
from dither.mechanisms import Gaussian, Laplace

BUDGETS = [PureDP(4), ApproxDP(4, "1e-6"), ApproxDP(4, "1e-6", composition="basic")]
KEYS = "SELECT remark, COUNT(*) AS n FROM visits GROUP BY remark"
OTHERS = ["nobody", "bob", "bob before", "the curator", "all"]


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers without noise: only what others did could tell two runs apart."""
    for kind in (Laplace, Gaussian):
        monkeypatch.setattr(kind, "_noise", lambda mechanism, size: 0 if size is None else np.zeros(size, np.int64))


def part(budget: Any, share: str) -> Any:
    if isinstance(budget, PureDP):
        return PureDP(budget.epsilon * Fraction(share))
    shares = budget.epsilon * Fraction(share), budget.delta * Fraction(share)
    return ApproxDP(*shares, composition=budget.composition)


def spend(asker: Any, name: str) -> None:
    """All of it, in ever smaller parts, and prices that do not fit."""
    for number in range(24):
        price = Fraction(2, 2 ** (number // 3))
        with suppress(DitherError):
            asker.sql(f"{COUNT} WHERE remark <> '{name} {number}'", epsilon=price, request=f"{name} {number}")
        if not isinstance(asker, Analyst) or number % 8 == 0:
            with suppress(DitherError):
                asker.sql(f"{KEYS.replace('GROUP', f'WHERE age > {number} GROUP')}", epsilon=price)


def observed(folder: Path, budget: Any, who: str, capsys: Any) -> list[str]:
    """All that alice sees, while others do what `who` says."""
    with open_clinic(folder, budget=budget) as curator:
        bob = curator.analyst("bob", budget=part(budget, "1/2"))
        if who == "bob before":
            spend(bob, "early")
        with suppress(
            PolicyError
        ):  # more than is not reserved: refused, so that she cannot be in bob's way, nor he in hers
            curator.analyst("alice", budget=part(budget, "3/5"))
        with suppress(PolicyError):
            curator.analyst("alice", budget=part(budget, "1/3"))
        alice = curator.analyst("alice")
        if who in ("bob", "all"):
            spend(bob, "late")
        if who in ("the curator", "all"):
            spend(curator, "own")
        seen = list(looks(alice))
        if who == "all":
            spend(bob, "later")
        seen += list(asks(alice))
        if who == "all":
            spend(bob, "last")
            spend(curator, "last")
        seen += [*asks(alice), *looks(alice)]
    for command in (["budget", str(folder)], ["explain", str(folder), COUNT, "--epsilon", "3"]):
        capsys.readouterr()
        main([*command, "--analyst", "alice", "--json"])
        seen.append("".join(capsys.readouterr()))
    return seen


def looks(alice: Analyst) -> Iterator[str]:
    yield from (repr(alice.budget()), str(alice.budget()), repr(alice.history()), repr(alice.tables()))
    yield repr([*alice.history()])
    for text in (COUNT, KEYS):
        for price in ("0.01", "0.9", "2", "3.9"):
            yield from answered(lambda text=text, price=price: alice.explain(text, epsilon=price).to_json())


def asks(alice: Analyst) -> Iterator[str]:
    for number in range(12):
        price = "0.1" if number % 3 else "2"
        text = f"{COUNT} WHERE age > {number}"
        yield from answered(lambda text=text, price=price: _bytes(alice.sql(text, epsilon=price)))


def _bytes(answer: Any) -> str:
    return f"{answer.to_json()} {answer} {answer.price} {answer.charged}"


def answered(ask: Callable[[], str]) -> Iterator[str]:
    try:
        yield ask()
    except DitherError as error:
        yield f"{type(error).__name__}: {error}"


def check_unseen(folder: Path, budget: Any, capsys: Any, worlds: list[str] = OTHERS) -> None:
    first, *rest = (observed(folder / who, budget, who, capsys) for who in worlds)
    for who, seen in zip(worlds[1:], rest, strict=True):
        assert seen == first, f"what {who} spent shows"
    assert any("does not fit into what is left of this analyst's own cap" in piece for piece in first)
    assert sum(piece.endswith(" True") for piece in first) >= 6, "some questions were answered"


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp", "basic"])
def test_others_spending_does_not_show(tmp_path: Path, budget: Any, capsys: Any) -> None:
    check_unseen(tmp_path, budget, capsys)


VIEW = Accounts.view


def _told(self: Accounts, people: str, analyst: str | None, asked: Any, charge: Any) -> Any:
    return too_expensive(asked, charge, self.view(people), None)


def _whole(self: Ledger, people: str, analyst: str | None, charge: Any) -> bool:
    return charge.cost <= self.balance(people).left.cost


PLANTED: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "the budget shown is the people's": lambda patch: patch.setattr(
        Accounts, "view", lambda self, people, analyst=None: VIEW(self, people)
    ),
    "a refusal tells what the people have left": lambda patch: patch.setattr(Accounts, "refusal", _told),
    "explain looks at what the people have left": lambda patch: patch.setattr(Ledger, "fits", _whole),
    "history counts what others did": lambda patch: patch.setattr(
        Service,
        "history",
        lambda self, who, after=0: [e for e in self._ledger.entries() if e.body.get("analyst") == who.name],
    ),
    "caps are not reserved": lambda patch: patch.setattr(caps, "unreserved", lambda people, _: people.left),
    "the curator spends what is reserved": lambda patch: patch.setattr(caps, "free", lambda account, _: account.left),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_views_of_others(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    PLANTED[bug](monkeypatch)
    with pytest.raises(AssertionError, match="spent shows"):
        check_unseen(tmp_path, PureDP(4), capsys, ["nobody", "all", "bob before"])
