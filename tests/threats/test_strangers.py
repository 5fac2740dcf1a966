"""Threat 61: a name that the curator did not make spends nothing, sees nothing, and is refused before anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from threats_clinic import COUNT, add_table, open_clinic, patients

from dither.accounting import PureDP
from dither.cli.main import main
from dither.curator.accounts import Accounts
from dither.curator.analyst import Analyst
from dither.curator.catalogs import Catalogs
from dither.curator.curator import Curator
from dither.curator.principal import Principal
from dither.curator.service import Service
from dither.errors import DitherError, PolicyError, Stranger
from dither.ledger import Charge, Ledger, caps, checks

NAMES = ["mallory", "patients", "none", "alic", "alice2", "root"]


def check_strangers(folder: Path, capsys: Any) -> None:
    """Everybody but alice, and alice about people for whom she has no cap."""
    with open_clinic(folder) as curator:
        curator.people("staff", budget=PureDP(4))
        add_table(curator, "staff", patients(), people="staff")
        before = [*curator.ledger()]
        for name in NAMES:
            refused(curator.analyst, name)
            refused(curator.analyst, name, people="patients")
            charge = Charge(Fraction(1))
            refused(curator._ledger.reserve, "patients", name, charge, question="q", snapshot="1", plan="{}")
        alice, question = curator.analyst("alice"), "SELECT COUNT(*) FROM staff"
        for asking in (alice.sql, partial(alice.sql, request="r1"), alice.explain):
            refused(asking, question, epsilon=1)
        refused(alice.budget, "staff")
        refused(alice.profiled, "staff")
        assert [table.name for table in alice.tables()] == ["visits"], "a stranger sees the tables"
        heard = {said for name in NAMES for said in asked_by(Analyst(curator._service, Principal.analyst(name)))}
        assert heard == {repr(Stranger().document())}, f"a stranger got further than the door: {heard}"
        assert [*curator.ledger()] == before, "a stranger was charged"
        curator.verify()
    for command in ("query", "explain"):
        assert main([command, str(folder), COUNT, "--epsilon", "0.1", "--analyst", "mallory"]) == 2
        assert "there is no analyst 'mallory'; known are: alice. Make one with" in capsys.readouterr().err


def asked_by(stranger: Analyst) -> Iterator[str]:
    """What a name hears, of all that can be asked: about tables that are there and others, in SQL and not."""
    for text in (COUNT, "SELECT COUNT(*) FROM nosuch", "SELECT nosuch FROM visits", "no SQL", ""):
        for stated in ({"epsilon": 1}, {"epsilon": "none"}, {}, {"epsilon": 1, "dialect": "nosuch"}):
            yield heard(partial(stranger.sql, text, **stated))  # type: ignore[arg-type]
            yield heard(partial(stranger.explain, text, **stated))
    for act in (stranger.budget, stranger.tables, stranger.history):
        yield heard(act)
    for named in ("patients", "visits", "nosuch"):
        yield heard(partial(stranger.budget, named))
        yield heard(partial(stranger.profiled, named))


def heard(act: Callable[[], object]) -> str:
    try:
        return f"a stranger got in: {act()!r}"
    except DitherError as error:
        return repr(error.document())


def refused(act: Callable[..., object], *given: Any, **named: Any) -> None:
    try:
        act(*given, **named)
        said = "a stranger got in"
    except DitherError as error:
        said = f"a stranger got further than the door: {error}"
    words = ("there is no analyst", "has no cap on people", "there is no table 'staff'; registered are: visits.")
    assert any(expected in said for expected in words), said


def test_strangers_are_refused_everywhere(tmp_path: Path, capsys: Any) -> None:
    check_strangers(tmp_path / "clinic", capsys)


def _anyone(self: Curator, name: str, **_: Any) -> Analyst:
    return Analyst(self._service, Principal.analyst(name))


def _says(self: Service, who: Principal) -> str | None:
    if who.name is not None:
        self._accounts.check_analyst(who.name)
    return who.name


def _people_alone(book: Any, people: str, analyst: str | None, charge: Charge) -> Any:
    own = None if analyst is None else book.accounts.get((people, analyst))
    return PRICES(checks.account_of(book, people, None), own, charge)


PRICES, BUDGET = caps.prices, Accounts.budget


def _anybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("dither.ledger.ledger.prices", _people_alone)
    patch.setattr(caps, "check", lambda *_: None)


def _not_watched(patch: pytest.MonkeyPatch) -> None:
    """Neither when tables are named nor when their people are."""
    patch.setattr(Catalogs, "of", lambda self, _: self._policy.catalog())
    patch.setattr(Accounts, "budget", lambda self, people, analyst=None: BUDGET(self, people))


PLANTED: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "any name is an analyst": lambda patch: patch.setattr(Curator, "analyst", _anyone),
    "the door is not watched": _not_watched,
    "the ledger charges anybody": _anybody,
    "the service lets anybody in": lambda patch: patch.setattr(Service, "_account", lambda self, who: who.name),
    "the service says whom it knows": lambda patch: patch.setattr(Service, "_account", _says),
    "all tables are shown": lambda patch: patch.setattr(Accounts, "people_of", lambda self, _: self.people),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_open_doors(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    PLANTED[bug](monkeypatch)
    with pytest.raises(AssertionError, match="a stranger"):
        check_strangers(tmp_path / "clinic", capsys)


def test_an_analyst_is_made_with_a_budget(tmp_path: Path) -> None:
    with open_clinic(tmp_path / "clinic") as curator:
        with pytest.raises(PolicyError, match=r"make one with a cap .* curator\.analyst\('bob', budget=dt\.ApproxDP"):
            curator.analyst("Bob")
        curator.analyst("bob", budget=PureDP(1))
        assert curator.analyst("BOB").budget().total.epsilon == 1
        assert isinstance(curator._ledger, Ledger)
