"""Threats 6, 28 and 33: no declaration, no answer; and price, refusal and explanation need nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import threats_harness as harness
import threats_queries as queries
from threats_clinic import COUNT, open_clinic, spent
from threats_population import few

from dither.curator.curator import Curator
from dither.curator.walk import Walk
from dither.errors import DitherError, ParameterError, PolicyError
from dither.mechanisms import Gaussian, Laplace
from dither.policy.columns import Fixed, Int
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.pricing.price import PricedQuestion

DECLARED = {"age": Int(0, 120), "visits": Fixed(0, 20, decimals=3), "region": Int(0, 5, nullable=False, default=1)}


def fields_of(content: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    table = content["tables"]["visits"]
    yield from (("tables", "visits", name) for name in table)
    for column, declared in table["columns"].items():
        yield from (("tables", "visits", "columns", column, name) for name in declared)


def check_every_field_is_needed(folder: Path) -> None:
    """Drop each declared field from the policy, one at a time: the question is refused, unread and unpaid."""
    path = folder / "policy.json"
    whole = path.read_text()
    dropped = [*fields_of(json.loads(whole))]
    assert len(dropped) > 12
    for place in dropped:
        content = json.loads(whole)
        inner = content
        for name in place[:-1]:
            inner = inner[name]
        del inner[place[-1]]
        path.write_text(json.dumps(content))
        with Curator.open(folder) as curator:
            engine = harness.Listening(curator._engine)
            curator._engine = engine  # type: ignore[assignment]
            with pytest.raises(PolicyError):
                curator.sql("SELECT SUM(age), SUM(visits), COUNT(DISTINCT patient) FROM visits", epsilon=1)
            assert engine.heard == []
            assert spent(curator) == 0
    path.write_text(whole)
    with Curator.open(folder) as curator:
        curator.sql(COUNT, epsilon=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import pyarrow as pa

    source = pa.table({"patient": [1, 2], "age": [30, 40], "visits": [1.5, 2.25], "region": [1, 2]})
    open_clinic(tmp_path / "clinic", source=source, columns=DECLARED).close()
    return tmp_path / "clinic"


def test_every_declared_field_is_needed(folder: Path) -> None:
    check_every_field_is_needed(folder)


def test_an_edited_declaration_is_refused(folder: Path) -> None:
    """Bounds are proven when data are loaded; narrower ones written in later would promise too little noise."""
    path = folder / "policy.json"
    path.write_text(path.read_text().replace("120", "12"))
    with Curator.open(folder) as curator, pytest.raises(PolicyError, match="edited"):
        curator.sql("SELECT SUM(age) FROM visits", epsilon=1)


def test_planted_default_bounds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dither.policy import store

    def lenient(name: str, declared: Any) -> Any:
        whole = {
            "people": "patients",
            "owner": "patient",
            "max_rows_per_owner": 1,
            "snapshot": 1,
            "columns": {},
        } | declared
        columns = {column: Int(0, 1) for column in whole["columns"]}
        return store.Table(
            name, whole["people"], whole["owner"], whole["max_rows_per_owner"], columns, whole["snapshot"]
        )

    monkeypatch.setattr(store, "_table", lenient)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_every_field_is_needed(folder)


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("sensitivity", [0, "0", -1, float("nan"), None])
def test_no_scale_without_a_sensitivity(kind: Any, sensitivity: Any) -> None:
    price = {"epsilon": 1} if kind is Laplace else {"rho": 1}
    with pytest.raises(ParameterError):
        kind(**price, sensitivity=sensitivity)


# Threat 28: the engine unplugged


class Unplugged:
    """An engine that must not be needed, but for the words that it understands."""

    def dialect_of(self, on: str) -> Any:
        return DUCKDB

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the engine was asked for {name}")


def check_unplugged(folder: Path, kind: type[Walk] = Walk) -> None:
    """Prices and explanations without engine and data are those with them."""
    side = harness.make_side(folder, few())
    texts = [*queries.FORMS.values(), *queries.NASTY.values(), *queries.REFUSED]
    plugged = [priced(side.curator, text) for text in texts]
    shutil.rmtree(folder / "snapshots")
    side.curator._engine = Unplugged()  # type: ignore[assignment]
    side.curator._walk.__class__ = kind
    assert [priced(side.curator, text) for text in texts] == plugged
    assert sum(isinstance(price, tuple) for price in plugged) >= len(queries.FORMS)
    side.curator._ledger.close()


def priced(curator: Curator, text: str) -> Any:
    try:
        price: PricedQuestion = curator._walk.price(text, epsilon=1)
        explained = curator.explain(text, epsilon=1)
        return price.price, price.recipe(), str(explained), explained.to_json()
    except DitherError as error:
        return harness.wire(error)


def test_priced_with_the_engine_unplugged(tmp_path: Path) -> None:
    check_unplugged(tmp_path / "c")


class LooksFirst(Walk):
    """Planted bug: an empty table is cheaper."""

    def price(self, text: str, *asker: Any, **stated: Any) -> PricedQuestion:
        price = super().price(text, *asker, **stated)
        self._engine.run(price.statements[0])
        return price


def test_planted_price_from_data(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the engine was asked for run"):
        check_unplugged(tmp_path / "c", LooksFirst)
