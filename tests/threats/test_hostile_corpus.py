"""Threats 1, 34, 35, 37 and 41: every statement of a curated corpus is refused, unread, unpaid, and without a crash."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import threats_harness as harness
import threats_population as population
from threats_hostile import Hostile, corpus

from dither.curator.curator import Curator
from dither.curator.walk import Walk
from dither.errors import ParameterError, PolicyError, UnsupportedQuery
from dither.ledger import Charge
from dither.sql.lowering.statement import Statement

LONGEST_REFUSAL = 1000


@pytest.fixture(scope="module")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    """A curator with every kind of table, who could well afford the questions."""
    side = harness.make_side(tmp_path_factory.mktemp("hostile") / "curator", population.few())
    yield side.curator
    side.curator.close()


def check_refused(curator: Curator, statement: Hostile) -> None:
    """Refused as unsupported or unknown, in few words; no engine heard of it and the ledger has not changed."""
    engine: Any = curator._engine
    engine.heard.clear()
    before = curator._ledger.balance("everybody"), len(curator._ledger.pending())
    where = f"line {statement.line} ({statement.theme}): {statement.text[:200]!r}"
    said = ""
    try:
        curator.sql(statement.text, epsilon="0.001", dialect=statement.dialect)
    except (UnsupportedQuery, PolicyError, ParameterError) as refusal:
        said = str(refusal)
    except Exception as crash:
        raise AssertionError(f"crash: {type(crash).__name__} on {where}") from crash
    else:
        raise AssertionError(f"answered {where}")
    assert len(said) < LONGEST_REFUSAL, f"a long refusal of {where}"
    assert engine.heard == [], f"the engine heard of {where}"
    assert (curator._ledger.balance("everybody"), len(curator._ledger.pending())) == before, f"charged for {where}"


def test_the_corpus_is_large_and_varied() -> None:
    statements = list(corpus())
    assert len({(statement.dialect, statement.text) for statement in statements}) == len(statements) > 2000
    themes = Counter(statement.theme for statement in statements)
    assert len(themes) >= 15
    assert min(themes.values()) >= 15
    assert len({statement.dialect for statement in statements}) >= 9
    assert not [statement.line for statement in statements if re.search(r"\{\{(U\+|\d)", statement.text)], "written out"


def test_every_statement_is_refused(everybody: Curator) -> None:
    entries = len([*everybody.ledger()])
    for statement in corpus():
        check_refused(everybody, statement)
    assert len([*everybody.ledger()]) == entries
    assert everybody.verify() == entries


# Planted bugs


class Crashes(Walk):
    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        return super().price(text, *asker, **stated) if "read_csv" in text else text.index("read_csv")


class Listens(Walk):
    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        try:
            self._engine.run(Statement((next(iter(self._policy.read().tables.values())),), text, (), 1))
        except Exception:  # noqa: BLE001
            raise UnsupportedQuery("no") from None
        return super().price(text, *asker, **stated)


class Charges(Walk):
    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        self._ledger.reserve("everybody", None, Charge(Fraction(1, 10**9)), question="q", snapshot="1", plan="")
        return super().price(text, *asker, **stated)


class Lenient(Walk):
    """A clause that the parser knows and the plan does not is passed over."""

    def price(self, text: str, *asker: Any, **stated: Any) -> Any:
        return super().price(text.partition(" PREWHERE ")[0], *asker, **stated)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (Crashes, "SELECT x FROM t", "crash: ValueError"),
        (Listens, "SELECT x FROM t", "the engine heard"),
        (Charges, "SELECT x FROM t", "charged for"),
        (Lenient, "SELECT COUNT(*) FROM t PREWHERE x > 1", "answered"),
    ],
)
def test_planted_bugs(tmp_path: Path, kind: type[Walk], text: str, words: str) -> None:
    side = harness.make_side(tmp_path / "curator", population.few()["t"])
    check_refused(side.curator, Hostile(1, "planted", None, text))
    side.curator._walk.__class__ = kind
    with pytest.raises(AssertionError, match=words):
        check_refused(side.curator, Hostile(1, "planted", None, text))
    side.curator.close()
