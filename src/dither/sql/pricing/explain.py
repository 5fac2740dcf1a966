"""What a question would cost and how far off its answer would be, from plan and declarations, never from data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dither.exact.digits import counted, decimal, number_above
from dither.mechanisms import Exponential, KeySelection, Quantile
from dither.sensitivity import Sensitivity
from dither.sql.plan.measures import names, shown
from dither.sql.plan.nodes import (
    Choice,
    CountDistinct,
    CountOwners,
    CountRows,
    Measure,
    OwnerLimit,
    OwnerTotal,
    SumRows,
)
from dither.sql.plan.question import Output
from dither.sql.planner.candidate import split_missed
from dither.sql.planner.mechanism_choice import noise_of, tag_of
from dither.sql.postprocess.measure_errors import errors_of
from dither.sql.pricing.explanation import Explanation
from dither.sql.pricing.key_owners import owners_needed
from dither.sql.pricing.menu import left_out_of, menu, structure
from dither.sql.pricing.notes import limits, narrowed, notes
from dither.sql.pricing.price import PricedMeasure, PricedQuestion

_GROUP_SIZES = (100, 1_000, 10_000, 100_000)
_TRADES = {
    "epsilon": "Half the error costs twice the epsilon.",
    "rho": "Half the error costs four times the rho.",
}
_GAUSSIAN_TRADE = "Half the error costs about twice the epsilon, at the same delta."


def explain(priced: PricedQuestion, confidence: Fraction) -> Explanation:
    """Explain a priced question; nothing is read, nothing is spent."""
    question = priced.question
    by_measure = {item.measure: item for item in priced.measures}
    parts = dict(zip(by_measure, priced.shares, strict=True))
    kept = [node.rows for aggregate in priced.aggregates for node in aggregate.walk() if isinstance(node, OwnerLimit)]
    if priced.strategy.where_first and priced.strategy.rows is not None:
        kept = [min(rows, priced.strategy.rows) for rows in kept]
    return Explanation(
        {
            "tables": [table.name for table in question.tables],
            "people": question.people,
            "groups": priced.aggregates[0].group_count if question.public else None,
            "rows_per_owner": min(priced.strategy.rows or max(kept), max(kept)) if kept else None,
            "selected_keys": _selection(priced, confidence),
            "price": {**priced.asked, **_charged(priced)},
            "confidence": str(float(confidence)),
            "trade": _GAUSSIAN_TRADE if priced.strategy.gaussian else _TRADES[priced.currency],
            "columns": [_column(output, by_measure, parts, priced, confidence) for output in priced.answered.outputs],
            "strategy": priced.strategy.why,
            "menu": menu(priced, confidence),
            "structure": structure(priced),
            "notes": [*notes(question, limits(priced.aggregates)), *narrowed(question, priced.strategy.bounds)],
            "statements": [statement.sql for statement in priced.statements],
        }
    )


def _charged(priced: PricedQuestion) -> dict[str, str]:
    charged = {priced.currency: f"{float(priced.price.cost):.15g}"}
    return {**charged, "delta": f"{float(priced.price.delta):.15g}"} if priced.price.delta else charged


def _column(
    output: Output,
    by_measure: dict[Measure, PricedMeasure],
    parts: dict[Measure, Fraction],
    priced: PricedQuestion,
    confidence: Fraction,
) -> dict[str, Any]:
    """A column's measures, the half-width of its noise alone, and what is left out of it."""
    needed = [by_measure[measure] for measure in output.aggregate.measures()]
    by_profile, by_noise = split_missed(priced.left_out, output, confidence)
    errors = errors_of(output.aggregate, [item.mechanism for item in needed], 1 - by_noise)
    expected = []
    for size in _GROUP_SIZES if output.aggregate.depends_on_size else (None,):
        width = output.aggregate.half_width_at(size or 0, errors)
        expected.append({"rows": size, "half_width": None if width is None else float(width)})
    if all(error["half_width"] is None for error in expected):
        expected = [{"rows": None, "half_width": None}]
    if all(isinstance(item.measure, Choice) for item in needed):
        sure = 1 - by_noise / output.aggregate.confidence_split
        expected = [{"rows": None, "half_width": None, "ranks": _ranks(needed[0], sure)}]
    measures = [
        {
            **_measure(name, item),
            "share": float(parts[item.measure]),
            "left_out": left_out_of(priced.left_out, item.measure, by_profile),
        }
        for name, item in zip(names(output.aggregate), needed, strict=True)
    ]
    return {"name": output.name, "measures": measures, "expected_error": expected}


def _ranks(item: PricedMeasure, sure: Fraction) -> float:
    """How far a chosen value's rank, or how often it occurs, may be from the best."""
    if isinstance(item.mechanism, Quantile):
        return item.mechanism.rank_error(sure)
    if isinstance(item.mechanism, Exponential) and isinstance(item.measure, Choice):
        low, high = item.measure.value.bounds
        return item.mechanism.error(sure, candidates=high - low + 1)
    raise TypeError(f"no rank error for {type(item.mechanism).__name__}")


def _measure(name: str, item: PricedMeasure) -> dict[str, Any]:
    """One measure, every figure in the units that its column is shown in."""
    noise = noise_of(item.mechanism)
    moved = item.sensitivity.l1 if noise is None else noise.sensitivity
    return {
        "measure": name,
        "sensitivity": number_above(moved if noise is None else shown(item.measure, moved)),
        "why": _reason(item.total or item.measure, item.sensitivity),
        "mechanism": tag_of(item.mechanism),
        "scale": None if noise is None else float(shown(item.measure, noise.scale)),
    }


def _selection(priced: PricedQuestion, confidence: Fraction) -> dict[str, Any] | None:
    """How keys that come from the data are selected."""
    item = priced.measures[0]
    if not isinstance(item.mechanism, KeySelection):
        return None
    return {
        "keys_per_owner": item.mechanism.keys_per_owner,
        "threshold": item.mechanism.threshold,
        "owners_needed": owners_needed(item.mechanism, confidence),
        "scale": float(item.mechanism.noise.scale),
        "delta": float(item.mechanism.delta),
    }


def _reason(measure: Measure, sensitivity: Sensitivity) -> str:
    most, spread = sensitivity.linf, sensitivity.l1 > sensitivity.linf
    if isinstance(measure, CountOwners):
        return f"an owner counts at most once in a group, in at most {counted(sensitivity.l1, 'group')}"
    if isinstance(measure, CountRows) and spread:
        apart = "each in another group" if most == 1 else f"at most {most} of them in one group"
        return f"an owner has at most {counted(sensitivity.l1, 'row')}, {apart}"
    if isinstance(measure, CountRows):
        return "an owner has at most that many rows, and all of them can fall into one group"
    if isinstance(measure, CountDistinct):
        return "an owner has at most that many rows, and each can bring a new value"
    if isinstance(measure, OwnerTotal):
        groups = f" in each of at most {counted(sensitivity.l1 / most, 'group')}" if spread else ""
        return f"an owner's total is clamped, so it adds at most {decimal(shown(measure, most))}{groups}"
    if isinstance(measure, Choice):
        return "an owner has at most that many rows, and each moves the ranks by one at most"
    if isinstance(measure, SumRows):
        bound = max(1, abs(measure.value.low), abs(measure.value.high))
        rows, each = counted(sensitivity.l1 / bound, "row"), decimal(shown(measure, bound))
        return f"an owner has at most {rows}, and each adds at most {each}"
    raise TypeError(f"no explanation for {type(measure).__name__}")
