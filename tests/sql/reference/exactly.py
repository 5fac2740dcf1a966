"""Answers without noise beside those of DuckDB to the same text, on tables where no limit bites."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.curator.present import present
from dither.curator.run import _listed, _narrowed
from dither.mechanisms.sealed_values import _unseal


def exact(curator: Any, text: str) -> list[tuple[Any, ...]]:
    """The answer whose noise is zero."""
    priced = curator._walk.price(text, epsilon=1)
    left, measures = list(priced.measures), []
    for aggregate, statement in zip(priced.aggregates, priced.statements, strict=True):
        for sealed in curator._engine.run(statement):
            item = left.pop(0)
            measures.append(NoisyMeasure(item.measure.text, np.asarray(_unseal(sealed)), item.parameters()))
        assert aggregate.public
    strategy = priced.strategy
    released = Released(priced.asked, measures, bounds=strategy.bounds, centres=strategy.centres)
    listed = _listed(priced.question, curator._engine)
    stored = _narrowed(priced.question, released, listed).to_bytes()
    shown = present(priced.question, stored, Fraction(19, 20)).to_arrow()
    return list(zip(*(column.to_pylist() for column in shown.columns), strict=True))


def plain(text: str, tables: Mapping[str, pa.Table]) -> list[tuple[Any, ...]]:
    """DuckDB's answer."""
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table)
    return connection.sql(text).fetchall()


def alike(one: Any, other: Any) -> bool:
    """The same value; of an empty group, where SQL has no row, a number is 0 or there is none."""
    if one is None or other is None or isinstance(one, (str, datetime.date)):
        return one == other or {one, other} <= {0, None}
    return abs(float(one) - float(other)) <= 1e-6 * max(1.0, abs(float(other)))


def check(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]], keys: int) -> None:
    by_key = {row[:keys]: row[keys:] for row in wanted}
    assert len(by_key) == len(wanted)
    for row in found:
        values = by_key.pop(row[:keys], (0,) * (len(row) - keys))
        assert all(map(alike, row[keys:], values)), (row, values)
    assert not by_key, "groups are missing"
