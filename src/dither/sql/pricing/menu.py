"""Other plans to choose from: fewer rows of each owner, and structure that could be declared."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.sql.bounding.losses import certifiable
from dither.sql.expressions import Stored
from dither.sql.plan.measures import shown
from dither.sql.plan.nodes import CountRows, Measure, SumRows
from dither.sql.planner.candidate import Plan, split_missed
from dither.sql.planner.mechanism_choice import selecting
from dither.sql.planner.passes import decided
from dither.sql.postprocess.left_out import LeftOut
from dither.sql.pricing.key_owners import owners_needed
from dither.sql.pricing.price import PricedQuestion

_STEP = 4  # from one number of rows on the menu to the next


def menu(priced: PricedQuestion, confidence: Fraction) -> list[dict[str, Any]]:
    """For some numbers of rows that count of each owner: the noise of each column, and what is left out at most."""
    limit = certifiable(priced.aggregates[0].child)
    most = 1 if limit is None else limit.child.table.max_rows_per_owner
    if most == 1 or limit is None:
        return []
    kind, (_, cost) = "zcdp" if priced.split[0] == "rho" else "pure", priced.split
    plan = Plan(priced.question, kind, cost, confidence, priced.profile)
    rows = sorted({limit.rows, most, *(_STEP**place for place in range(most.bit_length()) if _STEP**place < most)})
    made = []
    for count in rows:
        other = decided(replace(plan, stated=count))
        item = {"rows_per_owner": count, "chosen": count == limit.rows, "columns": _columns(other, confidence)}
        made.append({**item, "owners_needed": _owners_needed(other, priced.price.delta)})
    return made if made[0]["columns"] else []


def _owners_needed(plan: Plan, delta: Fraction) -> int | None:
    """How many owners a key from the data needs to be shown; None where all keys are public."""
    if plan.question.public:
        return None
    moved = list(plan.moved.values())
    share = plan.strategy.shares[0] if plan.strategy.shares else Fraction(1, len(moved))
    return owners_needed(selecting(plan.kind, plan.cost * share, moved[0], delta), plan.confidence)


def _columns(plan: Plan, confidence: Fraction) -> list[dict[str, Any]]:
    """Of counts and sums: of other columns, both follow from the data too."""
    found = []
    for output, asked in zip(plan.answered.outputs, plan.question.outputs, strict=True):
        measure = asked.aggregate.measures()[0]
        if len(asked.aggregate.measures()) == 1 and isinstance(measure, (CountRows, SumRows)):
            by_profile, by_noise = split_missed(plan.left_out, output, confidence)
            noise = plan.noise_of(output, float(by_noise))
            left = left_out_of(plan.left_out, output.aggregate.measures()[0], by_profile)
            found.append({"name": output.name, "noise": noise, "left_out": left})
    return found


def left_out_of(left: LeftOut, measure: Measure, missed: Fraction) -> list[float | None]:
    """By how much a measure may be too large, and too small, for what is left out; None if no bound is known."""
    return [None if end is None else float(shown(measure, abs(end))) for end in left.bounds(measure.text, missed)]


def structure(priced: PricedQuestion) -> list[dict[str, Any]]:
    """What could be declared, if it is true, for less noise of counts and sums: one row of an owner in each group.

    Then one owner moves M groups by one each, which Gaussian noise covers with the square root of M. `noise_times` is
    by what the noise of this plan, which reads K rows, would have to be multiplied.
    """
    limit = certifiable(priced.aggregates[0].child)
    names = {} if limit is None else {name: own for own, name in limit.child.names}
    keys = [key for key in priced.question.keys if isinstance(key.code, Stored)]
    columns = [names.get(key.code.name) for key in keys if isinstance(key.code, Stored)]
    if limit is None or priced.split[0] != "rho" or len(columns) != 1 or columns[0] is None:
        return []
    table, sums = limit.child.table, (CountRows, SumRows)
    # With fewer groups than rows, what was declared as the rows of an owner would not be true.
    few = (keys[0].declaration.key_count or table.max_rows_per_owner) < table.max_rows_per_owner
    gains = all(isinstance(one, sums) for output in priced.question.outputs for one in output.aggregate.measures())
    if few or not gains or columns[0] in table.structure.rows_in:
        return []
    times = math.sqrt(table.max_rows_per_owner) / limit.rows
    return [{"max_rows_per_owner_in": {columns[0]: 1}, "noise_times": times}] if times < 1 else []
