"""Every supported form equals a plain-Python reference before the noise, on random small tables.

The exact aggregates are put through the same steps that finish noisy ones, so that averages, ratios and labels are
compared as they are shown.
"""

from __future__ import annotations

import datetime
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sql_reference_answers as reference
import threats_population as population
from sql_reference_relations import Relation
from threats_generator import Generator

from dither.accounting import PureDP
from dither.answer import Answer, Value
from dither.answer.released import NoisyMeasure, Released
from dither.columns import Column
from dither.curator import Curator
from dither.errors import DitherError
from dither.mechanisms.exact import _unseal
from dither.present import present

WORLDS, QUESTIONS = 3, 150
BERLIN = datetime.timezone(datetime.timedelta(hours=2))
WORDS = [
    "alpha",
    "beta",
    "",
    "été",
    "e\u0301te\u0301",
    "😀",
    "x😀",
    "a_c",
    "50% off",
    "back\\slash",
    "quote'd",
    "ß",
    "\uffff",
]
TYPES = {
    "uid": pa.int64(), "x": pa.int64(), "big": pa.int64(), "wide": pa.int64(), "amount": pa.decimal128(12, 3),
    "n": pa.int32(), "g": pa.string(), "h": pa.int32(), "flag": pa.bool_(), "day": pa.date32(),
    "at": pa.timestamp("us", tz="Europe/Berlin"), "s": pa.string(), "word": pa.string(),
}  # fmt: skip
DAY, AT = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=BERLIN)


def event(draw: random.Random, owner: int) -> dict[str, Any]:
    """One row of the table of events, with values below, within and above their declared bounds."""
    row = {
        "x": draw.choice([draw.randint(-150, 1100), draw.randint(-3, 3), 0]),
        "big": draw.choice([draw.randint(-(2**62), 2**62), draw.randint(-5, 5)]),
        "wide": draw.choice([draw.randint(-(2**51), 2**51), -1]),
        "amount": Decimal(draw.randint(-1_100_000, 1_100_000)).scaleb(-3),
        "n": draw.randint(-5, 60),
        "g": draw.choice(["north", "south", "50% off", "lonely", "undeclared"]),
        "h": draw.randint(-1, 5),
        "flag": draw.random() < 0.5,
        "day": DAY + datetime.timedelta(days=draw.randint(-2, 8)),
        "at": AT + datetime.timedelta(minutes=draw.randint(-5000, 540_000), microseconds=draw.randint(0, 5)),
        "s": draw.choice(WORDS),
        "word": draw.choice(WORDS),
    }
    return {"uid": owner} | {name: None if draw.random() < 0.15 else value for name, value in row.items()}


@dataclass(frozen=True)
class World:
    """Small tables, registered with a curator and loaded by the reference."""

    curator: Curator
    tables: dict[str, Relation]

    def exact(self, text: str) -> Answer:
        """The answer whose noise is zero."""
        priced = self.curator._price(text, epsilon=1)
        sealed = [exact for statement in priced.statements for exact in self.curator._engine.run(statement)]
        measures = [
            NoisyMeasure(item.measure.text, np.asarray(_unseal(exact)), item.parameters())
            for item, exact in zip(priced.measures, sealed, strict=True)
        ]
        stored = Released(priced.asked, measures).to_bytes()
        return present(priced.question, stored, Fraction(19, 20))


def make_world(folder: Path, seed: int) -> World:
    draw = random.Random(seed)
    owners = draw.sample(range(1, 9000), draw.randint(1, 7))
    rows = [event(draw, owner) for owner in owners for _ in range(draw.randint(1, population.ROWS_PER_OWNER))]
    curator = Curator.open(folder)
    curator.people("everybody", budget=PureDP(4))
    columns: dict[str, Column] = population.COLUMNS
    source = pa.Table.from_pylist(rows, schema=pa.schema(list(TYPES.items())))
    curator.register(
        "t", source, people="everybody", owner="uid", max_rows_per_owner=population.ROWS_PER_OWNER, columns=columns
    )
    return World(curator, {"t": reference.stored(columns, rows, "uid")})


@pytest.fixture(scope="module", params=range(WORLDS))
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = make_world(tmp_path_factory.mktemp("world") / "curator", request.param)
    yield made
    made.curator.close()


def test_random_questions(world: World, request: pytest.FixtureRequest, campaign: Callable[[int], int]) -> None:
    generator = Generator(request.node.callspec.params["world"], {"t": population.COLUMNS}, LANDED, shown=True)
    answered: Counter[str] = Counter()
    for _ in range(campaign(QUESTIONS)):
        text = generator.question()
        try:
            found = world.exact(text)
        except DitherError:
            continue
        answered.update(set(generator.used))
        agree(found, reference.answer(text, world.tables), text)
    assert set(answered) == LANDED, "every form must be answered at least once, or this test shows little"


LANDED = {
    "table", "arithmetic", "functions", "case", "comparison", "flag", "texts", "labels", "dates", "times", "column",
    "count", "count of a value", "owners", "sum", "average",
}  # fmt: skip


def agree(found: Answer, wanted: reference.Reference, text: str) -> None:
    """Every group holds what the reference says; one that the reference does not know is empty."""
    missing = dict(wanted.groups)
    for row in found.to_dicts():
        key = tuple(plain(row[name]) for name in wanted.keys)
        expected = missing.pop(key, wanted.empty)
        for name in wanted.outputs:
            close = same(row[name], expected[name], found.column(name))
            assert close, f"{name} of {key} is {row[name]}, not {expected[name]}: {text}"
    assert not missing, f"no group {list(missing)}: {text}"


def same(found: Any, wanted: Any, column: Any) -> bool:
    """Counts and sums exactly; quotients to the digits that floats have of their largest possible value."""
    if wanted is None:  # an average of nothing: whatever is shown is made of noise
        return True
    if not isinstance(found, float):
        return Fraction(found) == wanted
    largest = max(map(abs, column.possible)) if isinstance(column, Value) and column.possible else 1
    return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9 + 1e-14 * largest)


def plain(value: Any) -> Any:
    """A shown key as the reference holds it."""
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return Fraction(value)
    return value
