"""From a stored release to the answer an analyst reads: names, averages, intervals. All of it is post-processing."""

from __future__ import annotations

from fractions import Fraction

from dither.answer import Answer, Chosen, Key, NoiseScale, Value
from dither.answer.keys import dense_keys, sparse_keys
from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.policy.columns import Coded
from dither.sql.plan.measures import names, shown
from dither.sql.plan.question import Output, Question
from dither.sql.planner.centres import from_centres
from dither.sql.planner.error_sums import errors_of, scaled, scaled_errors
from dither.sql.planner.mechanism_choice import Mechanism, factor_from, mechanism_from, scale_of, tag_of
from dither.sql.planner.split import as_released
from dither.sql.planner.target import Target
from dither.sql.planner.value_bounds import clamped
from dither.sql.pricing.notes import adjusted, narrowed, notes


def present(question: Question, stored: bytes, confidence: Fraction, *, charged: bool = True) -> Answer:
    """The answer in SELECT order, under this question's aliases and at this confidence.

    `charged` says whether it was paid for now; False for a release that had been paid for before.
    """
    released = Released.from_bytes(stored)
    noisy = {measure.measure: measure for measure in released.measures}
    keys = _keys(question, released)
    values = [_value(_as_released(output, released, noisy), noisy, confidence) for output in question.outputs]
    complete = released.keys is None
    if question.after is not None:
        rows = question.after.rows([key.values for key in keys], values, len(values[0]))
        complete = complete and len(rows) == len(values[0])
        keys, values = tuple(key.take(rows) for key in keys), [value.take(rows) for value in values]
    columns = [
        keys[item.index] if item.kind == "key" else _decoded(values[item.index], question.outputs[item.index])
        for item in question.order
    ]
    said = (*notes(question, released.limits), *narrowed(question, released.bounds))
    told = (*said, *adjusted(factor_from(item.mechanism) for item in released.measures))
    return Answer(tuple(columns), released.price, _guarantee(question), confidence, told, charged, complete)


def keeps(question: Question, stored: bytes, target: Target) -> bool:
    """Whether counts and sums of a stored release err by no more than was asked for.

    A release at a higher price may err by more, if it was planned otherwise. The error of an average depends on how
    many rows there are, so there the price alone counts.
    """
    released = Released.from_bytes(stored)
    noisy = {measure.measure: measure for measure in released.measures}
    for item in question.order:
        if item.kind == "output":
            output = _as_released(question.outputs[item.index], released, noisy)
            errors = _errors(output, noisy, target.confidence)
            width = None if output.aggregate.depends_on_size else output.aggregate.half_width_at(0, errors)
            if width is not None and not width <= target.error:
                return False
    return True


def _keys(question: Question, released: Released) -> tuple[Key, ...]:
    """Every combination of public keys, or the keys that were selected from the data."""
    if released.keys is not None:
        return sparse_keys([(key.name, key.declaration) for key in question.keys], released.keys)
    coded = [(key.name, key.declaration) for key in question.keys if isinstance(key.declaration, Coded)]
    return dense_keys(coded)


def _decoded(value: Value, output: Output) -> Key | Value:
    """A chosen day, moment or label in place of its code."""
    declared = getattr(output.aggregate, "declared", None)
    if declared is None:
        return value
    (shown,) = sparse_keys([(value.name, declared)], [value.values.tolist()])
    return Chosen(shown.name, shown.values, value.mechanism)


def _as_released(output: Output, released: Released, noisy: dict[str, NoisyMeasure]) -> Output:
    """The output in the form, and over the values, whose measures were released."""
    averaged = from_centres(output, released.centres)
    return as_released(clamped(averaged, released.bounds, noisy), noisy)


def _errors(output: Output, noisy: dict[str, NoisyMeasure], confidence: Fraction) -> list[Fraction]:
    needed = [noisy[measure.text] for measure in output.aggregate.measures()]
    mechanisms = [mechanism_from(measure.mechanism) for measure in needed]
    factors = [factor_from(measure.mechanism) for measure in needed]
    return scaled_errors(errors_of(output.aggregate, mechanisms, confidence), factors)


def _value(output: Output, noisy: dict[str, NoisyMeasure], confidence: Fraction) -> Value:
    needed = [noisy[measure.text] for measure in output.aggregate.measures()]
    mechanisms = [mechanism_from(measure.mechanism) for measure in needed]
    factors = [factor_from(measure.mechanism) for measure in needed]
    errors = _errors(output, noisy, confidence)
    column = output.finish([scaled(item.values, factor) for item, factor in zip(needed, factors, strict=True)], errors)
    return Value(
        column.name,
        column.values,
        column.decimals,
        column.half_width,
        column.lower,
        column.upper,
        mechanism=" and ".join(dict.fromkeys(map(tag_of, mechanisms))),
        scale=_scales(output, mechanisms, factors),
        possible=column.possible,
        additive=column.additive,
    )


def _scales(output: Output, mechanisms: list[Mechanism], factors: list[Fraction]) -> tuple[NoiseScale, ...]:
    parts = zip(names(output.aggregate), output.aggregate.measures(), mechanisms, factors, strict=True)
    scales = [(name, measure, scale_of(mechanism), factor) for name, measure, mechanism, factor in parts]
    return tuple(
        NoiseScale(name, float(shown(measure, scale * factor)))
        for name, measure, scale, factor in scales
        if scale is not None
    )


def _guarantee(question: Question) -> str:
    return f"owners of {question.people}: all rows of one owner, in every table, added or removed"
