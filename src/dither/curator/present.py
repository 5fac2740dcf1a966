"""From a stored release to the answer an analyst reads: names, averages, intervals. All of it is post-processing."""

from __future__ import annotations

from fractions import Fraction

from dither.answer import Answer, Chosen, Key, Value
from dither.answer.coverage import Covers
from dither.answer.keys import dense_keys, sparse_keys
from dither.answer.noisy_measures import Released
from dither.curator.answer_columns import Allowance, Columns
from dither.errors import PolicyError
from dither.mechanisms import KeySelection
from dither.policy.columns import Coded, Column
from dither.sql.plan.question import Output, Question
from dither.sql.postprocess.recorded_mechanisms import factor_from, mechanism_from
from dither.sql.pricing.notes import adjusted, narrowed, no_keys, notes, ranks


def present(
    question: Question,
    stored: bytes,
    confidence: Fraction,
    *,
    charged: bool = True,
    rows_per_owner: int | None = None,
    over_groups: bool = False,
) -> Answer:
    """The answer in SELECT order, under this question's aliases and at this confidence.

    `charged` says whether it was paid for now; False for a release that had been paid for before. `rows_per_owner` is
    what the question stated, and `over_groups` makes it the share of groups whose intervals hold.
    """
    released = Released.from_bytes(stored)
    _check_labels(question, released)
    columns, keys, allowance = Columns(released), _keys(question, released), Allowance(1 - confidence)
    values = [columns.value(output, allowance) for output in question.outputs]
    groups, complete = len(values[0]), released.keys is None
    covers: Covers = "noise" if released.left_out is None else "each"
    rows = None
    if question.after is not None:
        rows = question.after.rows([key.values for key in keys], values, groups)
        complete = complete and len(rows) == groups
    listed = groups if rows is None else len(rows)
    chosen = listed < groups and question.after is not None and question.after.chooses_by_noise
    over_groups = over_groups and bool(keys) and covers == "each" and any(value.left_out for value in values)
    if listed and covers == "each" and (chosen or over_groups):
        # Of G intervals that may miss with probability a, R chosen by noise miss a on average if each may miss a R/G.
        share = Fraction(listed, groups) if chosen else Fraction(1)
        allowance = Allowance(1 - confidence, share, listed if over_groups else None)
        values = [columns.value(output, allowance) for output in question.outputs]
        covers = "groups" if over_groups else "shown"
    if rows is not None:
        keys, values = tuple(key.take(rows) for key in keys), [value.take(rows) for value in values]
    shown = [
        keys[item.index] if item.kind == "key" else _decoded(values[item.index], question.outputs[item.index])
        for item in question.order
    ]
    limited = rows_per_owner if any(value.left_out for value in values) else None
    said = _notes(question, released, columns, confidence, groups)
    guarantee = f"owners of {question.people}: all rows of one owner, in every table, added or removed"
    return Answer(tuple(shown), released.price, guarantee, confidence, said, charged, complete, covers, limited)


def keeps(question: Question, stored: bytes, error: Fraction, confidence: Fraction) -> bool:
    """Whether counts and sums of a stored release err by no more than was asked for.

    A release at a higher price may err by more, if it was planned otherwise. The error of an average depends on how
    many rows there are, so there the price alone counts.
    """
    columns, allowance = Columns(Released.from_bytes(stored)), Allowance(1 - confidence)
    shown = (question.outputs[item.index] for item in question.order if item.kind == "output")
    return all(columns.within(output, error, allowance) for output in shown)


def _check_labels(question: Question, released: Released) -> None:
    """Numbers are shown under the labels that they were computed by, whatever was declared or loaded since."""
    if released.labels not in (None, question.labels):
        raise PolicyError(
            "this was answered before the labels of its keys or values changed: a table was declared differently, or a "
            "public table was refreshed with other texts. Ask anew under another request id."
        )


def _keys(question: Question, released: Released) -> tuple[Key, ...]:
    """Every combination of public keys, or the keys that were selected from the data."""
    if released.keys is not None:
        return sparse_keys([(key.name, key.declaration) for key in question.keys], released.keys)
    coded = [(key.name, key.declaration) for key in question.keys if isinstance(key.declaration, Coded)]
    return dense_keys(coded)


def _decoded(value: Value, output: Output) -> Key | Value:
    """A chosen day, moment or label in place of its code."""
    declared = getattr(output.aggregate, "declared", None)
    if not isinstance(declared, Column):
        return value
    (shown,) = sparse_keys([(value.name, declared)], [value.values.tolist()])
    return Chosen(shown.name, shown.values, value.mechanism)


def _notes(
    question: Question, released: Released, columns: Columns, confidence: Fraction, groups: int
) -> tuple[str, ...]:
    """What the analyst should know beside the numbers: from the plan, declarations and noisy numbers alone."""
    said = list(notes(question, released.limits))
    said += narrowed(question, released.bounds, covered=released.left_out is not None)
    said += adjusted(factor_from(item.mechanism) for item in released.measures)
    mechanisms = {item.measure: mechanism_from(item.mechanism) for item in released.measures}
    said += ranks(question, mechanisms, columns.left_out, 1 - confidence)
    selections = [found for found in mechanisms.values() if isinstance(found, KeySelection)]
    return (*said, *(map(no_keys, selections) if not groups else ()))
