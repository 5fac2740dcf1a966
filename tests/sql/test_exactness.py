"""Every supported form equals a plain-Python reference before the noise, on random small tables.

The exact aggregates are put through the same steps that finish noisy ones, so that averages, ratios and labels are
compared as they are shown.
"""

from __future__ import annotations

import datetime
import math
import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sql_reference_answers as reference
import threats_population as population
from sql_reference_aggregates import Values
from sql_reference_relations import Relation
from threats_generator import EVERYDAY, Generator, supported

from dither.accounting import ApproxDP
from dither.answer import Answer, Value
from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.curator.curator import Curator
from dither.curator.present import present
from dither.errors import DitherError
from dither.mechanisms.keys.groups import _Groups, _Histogram
from dither.mechanisms.sealed_values import _unseal
from dither.sql.plan.aggregates import Variance

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))
WORLDS, QUESTIONS = 3 * min(CAMPAIGN, 20), 300 * max(1, CAMPAIGN // 20)
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
    "eid": pa.int64(), "uid": pa.int64(), "x": pa.int64(), "big": pa.int64(), "wide": pa.int64(),
    "amount": pa.decimal128(12, 3), "n": pa.int32(), "g": pa.string(), "h": pa.int32(),
    "flag": pa.bool_(), "day": pa.date32(), "at": pa.timestamp("us", tz="Europe/Berlin"),
    "s": pa.string(), "word": pa.string(),
}  # fmt: skip
DAY, AT = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=BERLIN)


def holes(draw: random.Random, row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if draw.random() < 0.15 else value for name, value in row.items()}


def event(draw: random.Random, owner: int, eid: int) -> dict[str, Any]:
    """One row of the table of events, with values below, within and above their declared bounds."""
    row = {
        "x": draw.choice([draw.randint(-150, 1100), draw.randint(-3, 3), 0]),
        "big": draw.choice([draw.randint(-(2**62), 2**62), draw.randint(-5, 5)]),
        "wide": draw.choice([draw.randint(-(2**51), 2**51), -1]),
        "amount": Decimal(draw.randint(-1_100_000, 1_100_000)).scaleb(-3),
        "n": draw.choice([draw.randint(-5, 60), 3]),
        "g": draw.choice(["north", "south", "50% off", "lonely", "undeclared"]),
        "h": draw.randint(-1, 5),
        "flag": draw.random() < 0.5,
        "day": DAY + datetime.timedelta(days=draw.randint(-2, 8)),
        "at": AT + datetime.timedelta(minutes=draw.randint(-5000, 540_000), microseconds=draw.randint(0, 5)),
        "s": draw.choice(WORDS),
        "word": draw.choice(WORDS),
    }
    return {"eid": eid, "uid": owner} | holes(draw, row)


def person(draw: random.Random, owner: int) -> dict[str, Any]:
    row = {
        "age": draw.randint(-5, 130),
        "city": draw.choice(["bern", "zürich", "genève", "elsewhere"]),
        "score": Decimal(draw.randint(-20, 1100)).scaleb(-2),
        "born": datetime.date(draw.randint(1945, 2015), draw.randint(1, 12), draw.randint(1, 28)),
        "member": draw.random() < 0.5,
        "name": draw.choice(WORDS),
    }
    return {"uid": owner} | holes(draw, row)


def item(draw: random.Random, eid: int) -> dict[str, Any]:
    row = {
        "qty": draw.randint(-2, 12),
        "price": Decimal(draw.randint(-500, 12_000)).scaleb(-2),
        "code": draw.choice([draw.randint(-2, 65), 3]),
    }
    return {"eid": eid} | holes(draw, row)


@dataclass(frozen=True)
class World:
    """Small tables, registered with a curator and loaded by the reference."""

    curator: Curator
    tables: dict[str, Relation]

    def exact(self, text: str, rows: int | None = None) -> Exactly:
        """The answer whose noise is zero. Keys from the data are all shown."""
        priced = self.curator._walk.price(text, epsilon=1, rows_per_owner=rows)
        measures: list[NoisyMeasure] = []
        left, keys = list(priced.measures), None
        counted: dict[str, dict[Any, Counter[int]]] = {}
        for aggregate, statement in zip(priced.aggregates, priced.statements, strict=True):
            shares = [left.pop(0) for _ in aggregate.measures]
            opened: list[Any] = [_unseal(sealed) for sealed in self.curator._engine.run(statement)]
            if isinstance(opened[0], _Groups):
                keys = keys or tuple(key.to_pylist() for key in opened[0].keys)
                order = places_of(opened[0].keys, keys)
                opened = [measure[order] for measure in opened[0].measures]
            elif isinstance(opened[0], _Histogram):
                counted |= dict.fromkeys((item.measure.text for item in shares), in_groups(opened[0], keys))
                size = len(keys[0]) if keys else aggregate.group_count
                opened = [np.full(size, item.measure.value.bounds[0]) for item in shares]
            measures += [
                NoisyMeasure(item.measure.text, np.asarray(values), item.parameters())
                for item, values in zip(shares, opened, strict=True)
            ]
        stored = Released(priced.asked, measures, keys).to_bytes()
        outputs = {output.name: output.aggregate for output in priced.question.outputs}
        choices = {
            name: Chosen(counted[text], aggregate)
            for name, aggregate in outputs.items()
            if (text := aggregate.measures()[0].text) in counted
        }
        shown = present(priced.question, stored, Fraction(19, 20))
        whole = present(replace(priced.question, after=None), stored, Fraction(19, 20))
        return Exactly(shown, whole, choices, outputs)


@dataclass(frozen=True)
class Chosen:
    """How often each code occurs in each group, by its row, for a value that is chosen from them."""

    counts: dict[Any, Counter[int]]
    aggregate: Any

    def code(self, value: Any) -> int:
        """What a value of the reference is stored as."""
        column = self.aggregate.declared
        if column is not None:
            return int(column.encode(value))
        return int(value * 10**self.aggregate.value.scale)


@dataclass(frozen=True)
class Exactly:
    """The answer, the same before HAVING, ORDER BY and LIMIT, what values are chosen from, and the aggregates."""

    answer: Answer
    whole: Answer
    choices: dict[str, Chosen]
    aggregates: dict[str, Any]


def in_groups(histogram: _Histogram, keys: Any) -> dict[Any, Counter[int]]:
    """The histogram of each group, by the group's row in the answer."""
    places = histogram.places
    if places is None:
        rows = {key: place for place, key in enumerate(zip(*keys, strict=True))}
        places = [rows[key] for key in zip(*(key.to_pylist() for key in histogram.keys), strict=True)]
    found: dict[Any, Counter[int]] = {}
    for place, code, count in zip(places, histogram.codes.tolist(), histogram.counts.tolist(), strict=True):
        found.setdefault(int(place), Counter())[code] += int(count)
    return found


def places_of(found: Any, wanted: Any) -> list[int]:
    """Where each of the wanted groups stands among those found."""
    places = {key: place for place, key in enumerate(zip(*(key.to_pylist() for key in found), strict=True))}
    return [places[key] for key in zip(*wanted, strict=True)]


def make_world(folder: Path, seed: int) -> World:
    """Few enough rows of each owner that no limit bites, in any join. Some people have no event, some no person row."""
    draw = random.Random(seed)
    owners = draw.sample(range(1, 9000), draw.randint(3, 9))
    eids = iter(draw.sample(range(1, 1000), 40))
    rows: dict[str, list[dict[str, Any]]] = {
        "t": [event(draw, owner, next(eids)) for owner in owners[1:] for _ in range(draw.randint(1, 2))],
        "p": [person(draw, owner) for owner in owners[:-1]],
        "pub": [row for row in population.codes() if draw.random() < 0.9],
        "r": list(population.records(draw.randint(1, 9), seed)),
    }
    known = [row["eid"] for row in rows["t"]]
    rows["c"] = [item(draw, eid) for eid in [*known, 1001] for _ in range(draw.randint(0, 2))] + [item(draw, known[0])]
    curator = Curator.open(folder)
    curator.people("everybody", budget=ApproxDP(4, "1e-6"))
    tables = {"pub": reference.stored(population.CODES, rows["pub"])}
    for name, declared in population.DECLARED.items():
        source = pa.Table.from_pylist(rows[name], schema=pa.schema(list(TYPES.items())) if name == "t" else None)
        curator.register(name, source, people="everybody", **declared)
    curator.register_public("pub", pa.Table.from_pylist(rows["pub"]), columns=population.CODES, key="code")
    owner_of = {row["eid"]: row["uid"] for row in rows["t"]}
    rows["c"] = [{"uid": owner_of.get(row["eid"])} | row for row in rows["c"]]
    for name, declared in population.DECLARED.items():
        tables[name] = reference.stored(declared["columns"], rows[name], "tag" if name == "r" else "uid")
    return World(curator, tables)


@pytest.fixture(scope="module", params=range(WORLDS))
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = make_world(tmp_path_factory.mktemp("world") / "curator", request.param)
    yield made
    made.curator.close()


def test_random_questions(world: World, request: pytest.FixtureRequest) -> None:
    generator = Generator(
        request.node.callspec.params["world"], population.declared(), supported() - EVERYDAY, shown=True
    )
    answered: Counter[str] = Counter()
    draw = random.Random(0)
    for _ in range(QUESTIONS):
        text = generator.question()
        try:
            found = world.exact(text, draw.choice([None, enough_rows(text)]))
        except DitherError:
            continue
        answered.update(set(generator.used))
        agree(found, reference.answer(text, world.tables), text)
    assert set(answered) == supported() - EVERYDAY, (
        "every form must be answered at least once, or this test shows little"
    )


def enough_rows(text: str) -> int:
    """A limit below what is declared, which no owner's rows exceed: five items, or two events."""
    return 5 if re.search(r"\bc\b", text) else 2


def agree(found: Exactly, wanted: reference.Reference, text: str) -> None:
    """Every group holds what the reference says; one that the reference does not know is empty."""
    missing, rows = dict(wanted.groups), found.answer.to_dicts()
    places = {key_of(row, wanted): place for place, row in enumerate(found.whole.to_dicts())}
    for row in rows:
        key = key_of(row, wanted)
        expected = missing.pop(key, wanted.empty)
        assert wanted.kept.get(key, wanted.empty_kept) is not False, f"HAVING does not keep {key}: {text}"
        for name in wanted.outputs:
            value, shown = expected[name], row[name]
            if isinstance(value, Values):
                chosen = found.choices[name]
                value = Counter({chosen.code(each): count for each, count in value.counts.items()})
                shown = chosen.counts.get(places[key], Counter())
                close = shown == value
            else:
                close = same(shown, value, found.answer.column(name), found.aggregates[name])
            assert close, f"{name} of {key} is {shown}, not {value}: {text}"
    left = {key: values for key, values in missing.items() if wanted.kept[key]}
    if wanted.order is None:
        assert not left, f"no group {list(left)}: {text}"
    else:
        in_order(rows, left, wanted, text)


def in_order(rows: list[dict[str, Any]], left: dict[Any, Any], wanted: reference.Reference, text: str) -> None:
    """Rows stand in the order asked for; only as many as OFFSET says are missing before the last of them."""
    assert wanted.limit is None or len(rows) <= wanted.limit
    name, descending = wanted.order or ("", False)
    if isinstance(wanted.empty[name], Values) or not rows:
        return
    shown = [-row[name] if descending else row[name] for row in rows if row[name] is not None]
    assert shown == sorted(shown), f"the rows are in another order: {text}"
    others = [values[name] for values in left.values() if values[name] is not None]
    last = rows[-1][name]
    before = [other for other in others if last is not None and (other > last if descending else other < last)]
    assert len(before) <= wanted.offset, f"more rows were left out than OFFSET says: {text}"


def same(found: Any, wanted: Any, column: Any, aggregate: Any) -> bool:
    """Counts and sums exactly; quotients to the digits that floats have of their largest possible value."""
    if wanted is None:  # an average of nothing: whatever is shown is made of noise
        return True
    if not isinstance(found, float):
        return Fraction(found) == wanted
    largest = max(map(abs, column.possible)) if isinstance(column, Value) and column.possible else 1
    if isinstance(aggregate, Variance):  # squares of distances from the middle of the range, less the square of a mean
        found, wanted = (found**2, wanted**2) if aggregate.root else (found, wanted)
        reach = max(map(abs, aggregate.value.bounds)) / 10**aggregate.value.scale
        return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9 + 1e-14 * reach**2)
    return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9 + 1e-14 * largest)


def key_of(row: dict[str, Any], wanted: reference.Reference) -> tuple[Any, ...]:
    return tuple(plain(row[name]) for name in wanted.keys)


def plain(value: Any) -> Any:
    """A shown key as the reference holds it."""
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return Fraction(value)
    return value


# Planted bugs: an answer to one question beside the reference's answer to another.

MISUNDERSTOOD = {
    "NULL counting": ("SELECT COUNT(*) AS o0 FROM t", "SELECT COUNT(x) AS o0 FROM t"),
    "average over all rows": ("SELECT AVG(x) AS o0 FROM t", "SELECT SUM(x) / COUNT(*) AS o0 FROM t"),
    "join for left join": (
        "SELECT COUNT(*) AS o0 FROM p a JOIN t b ON a.uid = b.uid",
        "SELECT COUNT(*) AS o0 FROM p a LEFT JOIN t b ON a.uid = b.uid",
    ),
    "exists for not exists": (
        "SELECT COUNT(*) AS o0 FROM p WHERE EXISTS (SELECT 1 FROM t WHERE t.uid = p.uid AND t.x > 0)",
        "SELECT COUNT(*) AS o0 FROM p WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.uid = p.uid AND t.x > 0)",
    ),
    "condition of a left join as a filter": (
        "SELECT COUNT(*) AS o0 FROM p a LEFT JOIN t b ON a.uid = b.uid WHERE b.h > 1",
        "SELECT COUNT(*) AS o0 FROM p a LEFT JOIN t b ON a.uid = b.uid AND b.h > 1",
    ),
    "HAVING dropped": (
        "SELECT h AS k0, COUNT(*) AS o0 FROM t GROUP BY h",
        "SELECT h AS k0, COUNT(*) AS o0 FROM t GROUP BY h HAVING COUNT(*) > 1",
    ),
    "another clamp": ("SELECT OWNER_SUM(n, 0, 90) AS o0 FROM t", "SELECT OWNER_SUM(n, 0, 9) AS o0 FROM t"),
    "another zone": (
        "SELECT SUM(EXTRACT(HOUR FROM at)) AS o0 FROM t",
        "SELECT SUM(EXTRACT(HOUR FROM at AT TIME ZONE 'Europe/Berlin')) AS o0 FROM t",
    ),
    "values of other rows": ("SELECT MEDIAN(x) AS o0 FROM t", "SELECT MEDIAN(x) AS o0 FROM t WHERE h > 1"),
    "union that drops repeats": (
        "SELECT COUNT(*) AS o0 FROM t",
        "SELECT COUNT(*) AS o0 FROM (SELECT uid, h FROM t UNION ALL SELECT uid, h FROM t) q",
    ),
}


@pytest.mark.parametrize("bug", MISUNDERSTOOD)
def test_planted_misunderstandings(tmp_path: Path, bug: str) -> None:
    made = make_world(tmp_path / "curator", 1)
    asked, meant = MISUNDERSTOOD[bug]
    agree(made.exact(meant), reference.answer(meant, made.tables), meant)
    with pytest.raises(AssertionError):
        agree(made.exact(asked), reference.answer(meant, made.tables), meant)
    made.curator.close()
