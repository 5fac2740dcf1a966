"""What a question would cost and how far off its answer would be, from plan and declarations, never from data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.digits import counted, decimal, number_above
from dither.sql.aggregates import Average
from dither.sql.measures import names, shown
from dither.sql.notes import notes
from dither.sql.plan import CountOwners, CountRows, Measure, OwnerLimit, SumRows
from dither.sql.price import PricedMeasure, PricedQuestion
from dither.sql.question import Output

_GROUP_SIZES = (100, 1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Explanation:
    """The plan, the price, and the error to expect. `str()` is for people, `to_dict()` for programs."""

    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return self.content

    def to_json(self) -> str:
        return json.dumps(self.content, indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        return _text(self.content)

    __repr__ = __str__


def explain(priced: PricedQuestion, confidence: Fraction) -> Explanation:
    """Explain a priced question; nothing is read, nothing is spent."""
    question, table = priced.question, priced.question.table
    by_measure = {item.measure: item for item in priced.measures}
    limits = [node.rows for aggregate in priced.aggregates for node in aggregate.walk() if isinstance(node, OwnerLimit)]
    return Explanation(
        {
            "table": table.name,
            "people": table.people,
            "groups": priced.aggregates[0].group_count,
            "rows_per_owner": min(limits, default=None),
            "price": {**priced.asked, **_charged(priced)},
            "confidence": str(float(confidence)),
            "columns": [_column(output, by_measure, confidence) for output in question.outputs],
            "notes": list(notes(question)),
            "statements": [statement.sql for statement in priced.statements],
        }
    )


def _charged(priced: PricedQuestion) -> dict[str, str]:
    name = "rho" if type(priced.measures[0].mechanism).__name__ == "Gaussian" else "epsilon"
    return {name: f"{float(priced.price.cost):.15g}"}


def _column(output: Output, by_measure: dict[Measure, PricedMeasure], confidence: Fraction) -> dict[str, Any]:
    needed = [by_measure[measure] for measure in output.aggregate.measures()]
    sure = 1 - (1 - confidence) / output.aggregate.confidence_split
    errors = [item.mechanism.error(sure) for item in needed]
    sizes = _GROUP_SIZES if isinstance(output.aggregate, Average) else (None,)
    expected = [
        {"rows": size, "half_width": float(output.aggregate.half_width_at(size or 0, errors))} for size in sizes
    ]
    measures = [_measure(name, item) for name, item in zip(names(output.aggregate), needed, strict=True)]
    return {"name": output.name, "measures": measures, "expected_error": expected}


def _measure(name: str, item: PricedMeasure) -> dict[str, Any]:
    """One measure, every figure in the units that its column is shown in."""
    return {
        "measure": name,
        "sensitivity": number_above(shown(item.measure, item.mechanism.sensitivity)),
        "why": _reason(item.measure, item.sensitivity.linf),
        "mechanism": type(item.mechanism).__name__,
        "scale": float(shown(item.measure, item.mechanism.scale)),
    }


def _reason(measure: Measure, most: Fraction) -> str:
    if isinstance(measure, CountOwners):
        return "an owner counts at most once in a group, in at most as many groups as it has rows"
    if isinstance(measure, CountRows):
        return "an owner has at most that many rows, and all of them can fall into one group"
    if isinstance(measure, SumRows):
        bound = max(1, abs(measure.value.low), abs(measure.value.high))
        rows, each = counted(most / bound, "row"), decimal(shown(measure, bound))
        return f"an owner has at most {rows}, and each adds at most {each}"
    raise TypeError(f"no explanation for {type(measure).__name__}")


def _text(content: dict[str, Any]) -> str:
    price = ", ".join(f"{name} {value}" for name, value in content["price"].items())
    rows = content["rows_per_owner"]
    lines = [
        f"Table {content['table']}, people {content['people']}, {counted(content['groups'], 'group')}"
        + ("." if rows is None else f", at most {counted(rows, 'row')} of each owner."),
        f"Price: {price}. Nothing has been spent.",
        "",
    ]
    for column in content["columns"]:
        lines.append(f"{column['name']}")
        for measure in column["measures"]:
            lines.append(
                f"  {measure['measure']}: sensitivity {measure['sensitivity']:.10g} ({measure['why']}); "
                f"{measure['mechanism']} noise of scale {measure['scale']:.4g}"
            )
        at = " or ".join(
            f"±{error['half_width']:.4g}" + ("" if error["rows"] is None else f" at {error['rows']:,} rows")
            for error in column["expected_error"]
        )
        lines.append(f"  expected error: {at}, with confidence {content['confidence']}")
    return "\n".join([*lines, "", *content["notes"]])
