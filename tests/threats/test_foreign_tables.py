"""Threat 61: to an analyst without a cap there, tables of other people do not exist, byte for byte."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from threats_clinic import open_clinic

from dither.accounting import PureDP
from dither.cli import budget
from dither.cli.main import main
from dither.curator.analyst import Analyst
from dither.curator.catalogs import Catalogs
from dither.curator.principal import Principal
from dither.curator.service import Service
from dither.errors import DitherError, PolicyError
from dither.policy.columns import Category, Int

FOREIGN, NOWHERE = "payroll", "nowhere"  # of the same length, so that later words stand at the same place
PAYROLL = pa.table({"sid": ["a", "b"], "salary": [10, 20], "unit": ["union", "boss"]})
COLUMNS = {"salary": Int(0, 99999), "unit": Category(["union", "boss"])}
TEXTS = [
    "SELECT COUNT(*) FROM {}",
    'SELECT COUNT(*) FROM "{}" AS p',
    "SELECT AVG(nosuch) FROM {}",
    "SELECT AVG(salary) FROM {} WHERE unit = 'nosuch'",
    "SELECT unit, COUNT(*) FROM {} GROUP BY unit",
    "SELECT sid FROM {}",
    "SELECT * FROM {}",
    "SELECT COUNT(*) FROM {} GROUP BY ALL",
    "SELECT COUNT(*) OVER () FROM {}",
    "SELECT COUNT(*) FROM visits v JOIN {} p ON v.patient = p.sid",
    "SELECT COUNT(*) FROM {} p JOIN visits v ON v.patient = p.sid",
    "SELECT COUNT(*) FROM visits WHERE patient IN (SELECT sid FROM {})",
    "SELECT COUNT(*) FROM (SELECT * FROM {}) AS d",
    "WITH w AS (SELECT * FROM {}) SELECT COUNT(*) FROM w",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT salary FROM {}) AS d",
    "SELECT {}.salary FROM visits",
    "SELECT COUNT(*) FROM visits AS {}",
    "WITH {} AS (SELECT * FROM visits) SELECT COUNT(*) FROM {}",
    "SELECT FROM {}",
    "DROP TABLE {}",
    "{}",
]


def heard(act: Callable[[], object]) -> str:
    try:
        return str(act())
    except DitherError as error:
        return json.dumps([type(error).__name__, error.document(), error.args, error.hint])


def seen(alice: Analyst, name: str) -> Iterator[str]:
    """What alice hears in Python, of a table and of people that are called so."""
    for text in TEXTS:
        for spelling in (name, name.upper()):
            asked = text.replace("{}", spelling)
            yield heard(lambda asked=asked: alice.explain(asked, epsilon="0.1").to_json())
            yield heard(lambda asked=asked: alice.explain(asked, epsilon="0.1", dialect="mysql").to_json())
            yield heard(lambda asked=asked: alice.sql(asked, epsilon="0.001") and "answered")
    for spelling in (name, name.upper()):
        yield heard(partial(alice.profiled, spelling))
        yield heard(partial(alice.budget, spelling))
    yield from map(heard, (alice.tables, alice.budget))


def printed(folder: Path, name: str, capsys: Any) -> Iterator[str]:
    """The same of the command line."""
    asked = [[command, text.replace("{}", name)] for command in ("explain", "query") for text in TEXTS[:5]]
    commands = [[command, str(folder), text, "--epsilon", "0.1"] for command, text in asked]
    for command in [*commands, ["budget", str(folder), "--people", name], ["budget", str(folder)]]:
        for form in ([], ["--json"]):
            capsys.readouterr()
            yield f"{main([*command, '--analyst', 'alice', *form])} {''.join(capsys.readouterr())}"


def world(folder: Path, capsys: Any, *, foreign: bool) -> tuple[list[str], list[str]]:
    """All that alice hears about a table, which other people have or nobody has, and about one that nobody has."""
    with open_clinic(folder) as curator:
        if foreign:
            curator.people(FOREIGN, budget=PureDP(4))
            rows = {"owner": "sid", "max_rows_per_owner": 1}
            curator.register(FOREIGN, PAYROLL, people=FOREIGN, columns=COLUMNS, **rows)  # type: ignore[arg-type]
            curator.profile(FOREIGN, share="0.1")
            curator.analyst("bob", budget=PureDP(1), people=FOREIGN).sql(f"SELECT COUNT(*) FROM {FOREIGN}", epsilon=1)
        alice = curator.analyst("alice")
        first, second = list(seen(alice, FOREIGN)), list(seen(alice, NOWHERE))
        first.append(heard(lambda: [(entry.sequence, entry.kind) for entry in alice.history()]))
        second.append(first[-1])
    first += printed(folder, FOREIGN, capsys)
    second += printed(folder, NOWHERE, capsys)
    return placeless(first, folder), placeless(second, folder)


def placeless(all_said: list[str], folder: Path) -> list[str]:
    return [said.replace(str(folder), "FOLDER") for said in all_said]


def check_foreign(folder: Path, capsys: Any) -> None:
    there, nowhere = world(folder / "there", capsys, foreign=True)
    missing, _ = world(folder / "missing", capsys, foreign=False)
    assert there == missing, "a foreign table is not as if it did not exist"
    renamed = [said.replace(NOWHERE, FOREIGN).replace(NOWHERE.upper(), FOREIGN.upper()) for said in nowhere]
    assert there == renamed, "a foreign table is not like any other name"
    assert sum("there is no table" in said for said in there) > 50
    assert "answered" in there, "own tables are there"


def test_a_foreign_table_does_not_exist(tmp_path: Path, capsys: Any) -> None:
    check_foreign(tmp_path, capsys)


PROFILE = Service.profile


def _every_account(arguments: Namespace) -> list[Any]:
    with budget.open_curator(arguments) as curator:
        known = curator._ledger.accounts()
        chosen = [account for account in known if arguments.people in (None, account[0]) and account[1] == "alice"]
        if not chosen:
            raise PolicyError(f"there is no such budget; there are: {known}.")
        return [(account, curator.budget(*account)) for account in chosen]


PLANTED: dict[str, tuple[Any, str, Any]] = {
    "questions are read with all tables": (Catalogs, "of", lambda self, _: self._policy.catalog()),
    "all see all profiles": (Service, "profile", lambda self, _, table: PROFILE(self, Principal.curator(), table)),
    "all accounts are listed": (budget, "_views", _every_account),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_foreign_tables_show(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    monkeypatch.setattr(*PLANTED[bug])
    with pytest.raises(AssertionError, match="a foreign table is not"):
        check_foreign(tmp_path, capsys)
