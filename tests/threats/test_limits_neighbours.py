"""Threats 2, 3, 13, 28, 32 and 55 at the limits: at the ends of what is declared, and at what is just admitted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import threats_population as population
from threats_harness import Leak, Side, check_neighbours
from threats_limits_generator import AXES, Aiming

from dither.accounting.currency.currency import Price
from dither.errors import PolicyError
from dither.mechanisms.additive import addition
from dither.mechanisms.keys.groups import _Groups, seal_groups
from dither.mechanisms.sealed_values import _unseal, seal
from dither.policy.columns import Text
from dither.sql import expressions as e
from dither.sql.binding import computed_columns
from dither.sql.guard import check, ranges
from dither.sql.guard.facts import RULES, knowledge, several_relations
from dither.sql.lowering import blocks, lower, writer
from dither.sql.plan.nodes import JoinOwner

Pairs = dict[str, tuple[Side, Side]]
QUESTIONS, PARTS = 2000 * population.CAMPAIGN, 4
EPSILONS = ("1", "1000")  # sums that only a high price can buy noise for are asked about as well
EXPLAINED, DRAWN = 0.05, 0.25


def ask(pairs: Pairs, seed: int, count: int, axes: tuple[str, ...] = ()) -> Counter[tuple[str, str]]:
    """So many questions, each on some pair of neighbours; by axis and status how many there were.

    A plan that only the guard refuses is a fault as well: the guard's words tell nobody what to write instead.
    """
    aiming, draw = Aiming(seed, axes), random.Random(seed)
    found: Counter[tuple[str, str]] = Counter()
    for _ in range(count):
        text = aiming.question()
        one, other = draw.choice(list(pairs.values()))
        how = {"explained": draw.random() < EXPLAINED, "drawn": draw.random() < DRAWN}
        seen = check_neighbours(one, other, text, epsilon=draw.choice(EPSILONS), **how)
        if seen.error.startswith(b"UnsafePlan"):
            raise Leak(f"fault: {seen.error.decode()} on {text!r}")
        found[aiming.axis, seen.status] += 1
        aiming.heard(seen.status == "answered")
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_questions_that_aim_at_limits(extreme_pairs: Pairs, part: int) -> None:
    found = ask(extreme_pairs, part + 1000 * population.SEED, QUESTIONS // PARTS)
    admitted = {axis: count for (axis, status), count in found.items() if status == "answered"}
    assert sum(admitted.values()) >= found.total() / 3, "what is refused shows little: more must be admitted"
    assert set(admitted) == set(AXES)


def test_the_same_seed_asks_the_same() -> None:
    def texts(seed: int) -> list[str]:
        aiming, found = Aiming(seed), []
        for number in range(200):
            found.append(aiming.question())
            aiming.heard(number % 3 == 0)
        return found

    assert texts(5) == texts(5)
    assert texts(5) != texts(6)


def test_sizes_are_sought(extreme_pairs: Pairs) -> None:
    """What is refused is asked again at half the size, what is admitted further up, until the limit is between them."""
    aiming = Aiming(3, ("unions",))
    aiming.question()
    first = aiming.size
    aiming.heard(False)
    aiming.question()
    assert aiming.size == first // 2
    aiming.heard(True)
    aiming.question()
    assert first // 2 < aiming.size < first


# Planted bugs: each is found by the same questions, within the number that every run of the tests asks. A plant is one
# small function.

Plant = Callable[[pytest.MonkeyPatch], None]


def lengths_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A text that a derived table computes counts as one of a thousand characters at most, however it was made."""
    sound = knowledge.longest
    patch.setattr(knowledge, "longest", lambda value, schema: min(1000, sound(value, schema)))
    patch.setattr(computed_columns, "Text", lambda max_length: Text(max_length=min(1000, max_length)))


def lengths_forgotten_and_bare_codes(patch: pytest.MonkeyPatch) -> None:
    """And codes of groups come as the rows have them: one that is out of range raises."""
    lengths_forgotten(patch)
    patch.setattr(lower, "_held", _bare)
    patch.setattr(writer.Writer, "code", lambda self, node: self.any(node))


def _bare(aggregate: Any, measures: int, dialect: Any) -> list[str]:
    values = ["v"] * (aggregate.chosen_from is not None)
    return [*(f"k{i}" for i in range(len(aggregate.keys))), *values, *(f"m{i}" for i in range(measures))]


def totals_not_clamped(patch: pytest.MonkeyPatch) -> None:
    """What an owner has in all is taken as it is."""
    sound = blocks.Blocks.total

    def total(self: Any, written: Any, total: Any) -> str:
        if total.value is None:
            return str(written.count(total.condition))
        if total.function not in ("sum", "min", "max"):
            return sound(self, written, total)
        return f"{total.function}({written.number(total.value)})"

    patch.setattr(blocks.Blocks, "total", total)


def sums_in_one_word(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writer.Writer, "sum", lambda self, value: f"CAST(COALESCE({self._total(value)}, 0) AS BIGINT)")


def products_in_one_word(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writer.Writer, "type", lambda self, node: "stored" if isinstance(node, e.Stored) else "BIGINT")


def truncated_days_misjudged(patch: pytest.MonkeyPatch) -> None:
    """The first day of a period may be a year before the first day of all: a fault, since no plan goes so far back."""

    def first_day(node: Any, schema: Any) -> Any:
        low, high = ranges.interval(node.value, schema)
        return low - 365, high

    patch.setitem(ranges.NUMBERS, e.FirstDay, first_day)


def joins_not_multiplied(patch: pytest.MonkeyPatch) -> None:
    """The rows that a join makes of an owner are taken for those of one side."""
    sound = several_relations.joined_owner

    def one_side(node: JoinOwner, facts: Any) -> Any:
        return replace(sound(node, facts), rows=facts(node.child).rows)

    patch.setitem(RULES, JoinOwner, one_side)


def types_by_exact_numbers(patch: pytest.MonkeyPatch) -> None:
    """An answer is stored in wide numbers if the exact ones are, whatever the noise made of them."""
    sound = addition.add

    def add(steps: Any, noise: Any) -> Any:
        total = sound(steps, noise)
        return total.astype(object) if getattr(steps, "dtype", None) == np.dtype(object) else total

    patch.setattr("dither.mechanisms.additive.addition.add", add)
    patch.setattr("dither.lab.audit.neighbours.gaps.add", add)


def noise_that_overflows(patch: pytest.MonkeyPatch) -> None:
    """Noise is added in words, which some exact numbers do not fit."""
    patch.setattr(addition, "add", lambda steps, noise: np.asarray(steps).astype(np.int64) + np.asarray(noise))


def one_public_row(patch: pytest.MonkeyPatch) -> None:
    """A row is taken to find one public row at most."""
    patch.setattr(several_relations, "most_found", lambda node, facts: 1)


def windows_of_everybody(patch: pytest.MonkeyPatch) -> None:
    """A window goes over the rows of everybody who agrees in its parts, and not of one owner."""
    sound = blocks.Blocks._window

    def window(self: Any, writer: Any, block: Any, node: Any) -> str:
        return sound(self, writer, block, node).replace(f"PARTITION BY {block.owner}", "PARTITION BY 1")

    patch.setattr(blocks.Blocks, "_window", window)


def computed_keys_tell_apart(patch: pytest.MonkeyPatch) -> None:
    """Rows of one group are taken to agree in every column that a key is computed from."""

    def all_named(aggregate: Any) -> set[str]:
        return {part.name for key in aggregate.keys for part in key.code.walk() if isinstance(part, e.Stored)}

    patch.setattr(check, "told_apart", all_named)


def named_numbers_in_one_word(patch: pytest.MonkeyPatch) -> None:
    """What an algorithm names on its way is held in a word, whatever its bounds are."""

    def let(self: Any, node: e.Let) -> str:
        local, dialect = node.local, self.dialect
        columns = {**self.columns, local.column.name: dialect.local(local.name)}
        inner = writer.Writer(dialect, columns, {**self.schema, local.column.name: local.column}, self.rows)
        return str(
            dialect.let(local.name, self.wide(node.value, dialect.word), inner.wide(node.body, inner.type(node)))
        )

    patch.setitem(writer.NUMBERS, e.Let, let)


PLANTS: dict[str, tuple[Plant, tuple[str, ...], str]] = {
    "one public row": (one_public_row, ("public rows",), "gap"),
    "windows of everybody": (windows_of_everybody, ("numbered rows",), "gap"),
    "computed keys tell apart": (computed_keys_tell_apart, ("declared structure",), "gap"),
    "named numbers in one word": (named_numbers_in_one_word, ("functions",), "status|must not fail"),
    "lengths forgotten": (lengths_forgotten, ("characters",), "gap"),
    "lengths forgotten, bare codes": (lengths_forgotten_and_bare_codes, ("characters",), "gap|status|must not fail"),
    "totals not clamped": (totals_not_clamped, ("bits", "totals"), "gap|must not fail"),
    "sums in one word": (sums_in_one_word, ("sums",), "status|must not fail"),
    "products in one word": (products_in_one_word, ("bits",), "status|must not fail"),
    "truncated days misjudged": (truncated_days_misjudged, ("calendar",), "fault"),
    "joins not multiplied": (joins_not_multiplied, ("joins",), "gap"),
    "types by exact numbers": (types_by_exact_numbers, ("sums",), "shapes"),
    "noise that overflows": (noise_that_overflows, ("sums",), "status|must not fail"),
}


def forget(pairs: Pairs) -> None:
    """Questions that were read before a plant hold plans that were made before it."""
    for pair in pairs.values():
        for side in pair:
            side.curator._walk._readings._known.clear()


@pytest.mark.parametrize("name", PLANTS)
def test_planted_bugs(extreme_pairs: Pairs, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    plant, axes, words = PLANTS[name]
    forget(extreme_pairs)
    plant(monkeypatch)
    with pytest.raises(Leak, match=words):
        ask(extreme_pairs, 0, QUESTIONS, axes)
    forget(extreme_pairs)


# Steps of one side that go by the data.

Step = Callable[[Side], Side]


def measured(side: Side, text: str) -> int:
    """An exact number, which only a planted bug looks at."""
    (sealed,) = side.run(side.price(text, epsilon=1).statements[0])
    return int(np.asarray(_unseal(sealed))[0])


def limit_from_data(side: Side) -> Side:
    """Texts may be as long as the longest there is."""
    most = measured(side, "SELECT COUNT(*) FILTER (WHERE LENGTH(long) > 1000) FROM t") * 1000

    def price(text: str, **stated: Any) -> Any:
        if text.count("||") * 100 > most + 400:
            raise PolicyError("this text can become too long.")
        return side.price(text, **stated)

    return replace(side, price=price)


def cost_from_data(side: Side) -> Side:
    rows = measured(side, "SELECT COUNT(*) FROM t")
    return replace(
        side, price=lambda text, **stated: replace(side.price(text, **stated), price=Price(Fraction(1, rows)))
    )


def narrow_key_types(side: Side) -> Side:
    """Keys come in the narrowest type that holds those that are there."""

    def narrow(key: pa.Array) -> pa.Array:
        if not pa.types.is_integer(key.type) or not len(key):
            return key
        small = all(value is None or abs(value) < 2**31 for value in key.to_pylist())
        return key.cast(pa.int32()) if small else key

    def run(statement: Any) -> Any:
        results = side.run(statement)
        found = [_unseal(sealed) for sealed in results]
        if not isinstance(found[0], _Groups):
            return results
        return [seal_groups([narrow(key) for key in found[0].keys], found[0].measures)]

    return replace(side, run=run)


def rows_up_to_the_largest(side: Side) -> Side:
    """Groups after the last one that has rows are left out."""

    def run(statement: Any) -> Any:
        results = side.run(statement)
        found = [_unseal(sealed) for sealed in results]
        if not statement.keys or not all(isinstance(values, np.ndarray) for values in found):
            return results
        last = max((int(np.flatnonzero(values)[-1]) if values.any() else 0) for values in found)
        return [seal(values[: last + 1]) for values in found]

    return replace(side, run=run)


def a_second_look(side: Side) -> Side:
    """A statement is run once more if its result is large."""

    def run(statement: Any) -> Any:
        results = side.run(statement)
        found = _unseal(results[0])
        return side.run(statement) if isinstance(found, np.ndarray) and (abs(found) > 10).any() else results

    return replace(side, run=run)


STEPS: dict[str, tuple[Step, str]] = {
    "a limit from data": (limit_from_data, "(status|error) differs"),
    "a cost from data": (cost_from_data, "price differs"),
    "key types from data": (narrow_key_types, "shapes differs"),
    "rows up to the largest": (
        rows_up_to_the_largest,
        "(rows|stored_bytes|shapes|status) differs|must not fail",
    ),
    "a second look": (a_second_look, "statements differs"),
}


@pytest.mark.parametrize("name", STEPS)
def test_planted_steps_that_read_data(extreme_pairs: Pairs, name: str) -> None:
    step, words = STEPS[name]
    planted = {called: (step(one), step(other)) for called, (one, other) in extreme_pairs.items()}
    with pytest.raises(Leak, match=words):
        ask(planted, 0, QUESTIONS)
