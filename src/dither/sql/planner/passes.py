"""All decisions about a question, in their order. Each pass takes a plan and gives one whose intervals are no longer.

Which rows, totals and values count is decided by what a profile certifies: an interval has the noise, which fewer rows
make smaller, and all that may be left out for it. Where nothing better is certified, everything declared counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from dither.exact.parameters import whole
from dither.sql.bounding.limit_order import chooses_rows
from dither.sql.bounding.losses import certifiable
from dither.sql.bounding.owner_limits import Limits
from dither.sql.expressions import Stored
from dither.sql.plan.aggregates import Average, Sum
from dither.sql.planner.candidate import NOTHING_DECIDED, Plan
from dither.sql.planner.split import least_error, shares, summed
from dither.sql.planner.strategy import totalled
from dither.sql.postprocess.left_out import ROWS

_MOST_SUMS = 16  # that are looked at for a better form; a query of more is answered as it stands
_MOST_WORK = 10_000  # measures of all plans that one pass tries; of more steps of a profile only some are tried
_BETTER = 0.999


def rows_as_stated(plan: Plan) -> Plan:
    """A limit on rows that the analyst stated is kept."""
    if plan.stated is None:
        return plan
    rows = whole(plan.stated, "rows_per_owner")
    return plan.deciding(rows=rows, where_first=plan.where_first and chooses_rows(plan.question.source, rows))


def fewer_rows(plan: Plan) -> Plan:
    """At most K rows of each owner: what is certified changes its slope at the edges of bins, so these are tried."""
    if plan.stated is not None or plan.profile is None:
        return plan
    limit = certifiable(Limits(None).limited(plan.question.source))
    if limit is None or limit.child.table.name != plan.profile.table or limit.rows == 1:
        return plan
    others = _some(plan, [plan.deciding(rows=rows) for rows in plan.profile.steps(ROWS) if rows < limit.rows])
    found = _best(plan, others)
    worse = min(others, key=lambda other: sum(other.lengths), default=None)
    return replace(plan, tried=worse) if found is plan else found


def owner_totals(plan: Plan) -> Plan:
    """Sums by owners' totals, each clamped; only without groups, over which an owner's rows may be spread."""
    if plan.stated is not None or plan.profile is None or plan.question.keys:
        return plan
    looked_at = summed(plan.question)[:_MOST_SUMS]
    for leaf in looked_at:
        if isinstance(leaf.value, Stored):
            (measure,) = leaf.measures()
            low, high = (end * plan.profile.most for end in leaf.value.bounds)
            steps = {step for kind in ("gains", "losses") for step in plan.profile.steps(f"{kind} {leaf.value.name}")}
            totals = (totalled(measure, max(-step, min(low, 0)), min(step, max(high, 0))) for step in sorted(steps))
            others = [plan.deciding(totals=(*plan.strategy.totals, (measure, total))) for total in totals]
            plan = _best(plan, _some(plan, others, len(looked_at)))
    every = set(plan.moved) <= set(dict(plan.strategy.totals))
    return plan.deciding(rows=None) if every else plan  # totals are of all rows that count


def tighter_values(plan: Plan) -> Plan:
    """Values clamped to bounds that few owners exceed, first above, then below."""
    if plan.stated is not None or plan.profile is None:
        return plan
    leaves = (leaf for output in plan.question.outputs for leaf in output.aggregate.leaves())
    averaged = dict.fromkeys(leaf.value for leaf in leaves if isinstance(leaf, (Sum, Average)))
    looked_at = [value for value in averaged if isinstance(value, Stored)][:_MOST_SUMS]
    for value in looked_at:
        least, most = value.bounds
        known, profile = plan.strategy.bounds, plan.profile
        tops = [step for step in profile.steps(f"largest {value.name}") if max(0, least) <= step < most]
        tried = [plan.deciding(bounds=(*known, (value.text, least, top))) for top in tops]
        plan = _best(plan, _some(plan, tried, 2 * len(looked_at)))
        top = plan.strategy.bounds[-1][2] if len(plan.strategy.bounds) > len(known) else most
        ends = [-step for step in profile.steps(f"smallest {value.name}") if least < -step <= min(0, top)]
        tried = [plan.deciding(bounds=(*known, (value.text, end, top))) for end in ends]
        plan = _best(plan, _some(plan, tried, 2 * len(looked_at)))
    return plan


def centred_sums(plan: Plan) -> Plan:
    """Sums of distances from the middle, where the count that goes with them is paid for anyway.

    Not where a profile bounds what is left out: distances lose on both sides what a sum loses on one.
    """
    if len(plan.moved) < 2 or plan.left_out.known:
        return plan
    for leaf in summed(plan.question)[:_MOST_SUMS]:
        _, count = Average(leaf.value).measures()
        if count in plan.moved and not set(leaf.measures()) & set(dict(plan.strategy.totals)):
            other = plan.deciding(centred=(*plan.strategy.centred, *leaf.measures()))
            plan = other if _error(other) < _BETTER * _error(plan) else plan
    return plan


def shares_of_price(plan: Plan) -> Plan:
    """More for what moves by more or counts for more."""
    if len(plan.moved) < 2:
        return plan
    return plan.deciding(shares=shares([*plan.moved], [*plan.moved.values()], plan.weights, plan.kind))


def as_declared(plan: Plan) -> Plan:
    """What is declared, if after all an interval would be longer than without the profile."""
    if plan.stated is not None or plan.profile is None:
        return plan
    declared = decided(replace(plan, profile=None, strategy=NOTHING_DECIDED))
    longer = any(mine > theirs for mine, theirs in zip(plan.lengths, declared.lengths, strict=True))
    return replace(declared, profile=plan.profile) if longer else plan


Pass = Callable[[Plan], Plan]
LIMITS: tuple[Pass, ...] = (rows_as_stated, fewer_rows, owner_totals, tighter_values)
PASSES: tuple[Pass, ...] = (*LIMITS, centred_sums, shares_of_price, as_declared)


def decided(plan: Plan, passes: Iterable[Pass] = PASSES) -> Plan:
    """The plan after all passes."""
    for one in passes:
        plan = one(plan)
    return plan


def _some(plan: Plan, others: list[Plan], parts: int = 1) -> list[Plan]:
    """So many plans, evenly spread, that they take one of `parts` parts of a pass's work: each takes all measures."""
    most = max(1, _MOST_WORK // (parts * len(plan.moved)))
    return others[:: -(-len(others) // most) or 1]


def _best(plan: Plan, others: list[Plan]) -> Plan:
    """The one with the shortest intervals; the plan itself if none has shorter ones."""
    found = min(others, key=lambda other: other.shorter_than(plan), default=plan)
    return found if found.shorter_than(plan) < 1 else plan


def _error(plan: Plan) -> float:
    return least_error([*plan.moved], [*plan.moved.values()], plan.weights, plan.kind)
