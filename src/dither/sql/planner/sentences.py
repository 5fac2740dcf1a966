"""What was chosen, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from dither.exact.digits import counted, decimal
from dither.sql.plan.measures import shown
from dither.sql.planner.candidate import FOR_PROFILE, Plan


def reasons(plan: Plan) -> Iterator[str]:
    """What a plan does with rows, totals and values, and what that leaves out at most."""
    profile, rows = plan.profile, plan.strategy.rows
    if plan.stated is not None:
        yield f"At most {counted(plan.stated, 'row')} of each owner, as stated."
    elif profile is not None and rows is not None:
        yield (
            f"At most {counted(rows, 'row')} of each owner {'is' if rows == 1 else 'are'} read, of {profile.most:,} "
            f"that count: the noise is {profile.most / rows:.3g} times smaller, and the profile certifies that "
            f"{_left_out(plan)}."
        )
    elif profile is not None and plan.tried is not None and plan.tried.strategy.rows is not None:
        fewer = counted(plan.tried.strategy.rows, "row")
        yield (
            f"All {counted(profile.most, 'row')} that count of each owner are read: the profile is too cheap to help "
            f"at this price. With {fewer} it would certify that {_left_out(plan.tried)}, and the noise would shrink by "
            "less."
        )
    for measure, total in plan.strategy.totals:
        ends = " to ".join(decimal(shown(measure, end)) for end in (total.least, total.most))
        yield f"A sum adds owners' totals, each clamped to {ends}, as the profile suggests; it is the slower plan."
    if plan.strategy.bounds:
        yield "Values are clamped to tighter bounds than declared, as the profile suggests; intervals cover the rest."


def _left_out(plan: Plan) -> str:
    known = plan.profile.rows if plan.profile is not None else None
    lost = 0 if known is None else known.excess(plan.strategy.rows or known.top, (1 - plan.confidence) * FOR_PROFILE)
    return f"at most {counted(lost, 'row')} {'is' if lost == 1 else 'are'} left out of any group"
