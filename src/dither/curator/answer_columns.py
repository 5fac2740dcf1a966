"""From noisy measures to columns with their intervals: how much each may be missed, and what that makes of its ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dither.answer import NoiseScale, Value
from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.mechanisms import KeySelection
from dither.records.versions import LEFT_OUT, version_of
from dither.sql.plan.aggregates import CountDistinctOwner
from dither.sql.plan.measures import added_up, left_out_words, names, shown
from dither.sql.plan.question import Output
from dither.sql.plan.released_form import as_released, clamped, from_centres
from dither.sql.postprocess.left_out import Bounds, LeftOut
from dither.sql.postprocess.measure_errors import (
    NOTHING,
    TO_GROUPS,
    MeasureError,
    errors_of,
    scaled,
    scaled_errors,
)
from dither.sql.postprocess.recorded_mechanisms import factor_from, mechanism_from, scale_of, tag_of
from dither.sql.postprocess.selected_counts import ends_if_shown


@dataclass(frozen=True)
class Allowance:
    """With which probability an interval may miss: in all, and as a share of that for noise where rows were chosen.

    With `groups`, it is the share of so many groups that may be missed, on average.
    """

    missed: Fraction
    shown: Fraction = Fraction(1)
    groups: int | None = None


@dataclass(frozen=True)
class Columns:
    """The columns of one release."""

    released: Released

    @cached_property
    def noisy(self) -> dict[str, NoisyMeasure]:
        return {measure.measure: measure for measure in self.released.measures}

    @cached_property
    def left_out(self) -> LeftOut:
        document = self.released.left_out or {}
        version_of(document, LEFT_OUT, "what a stored answer left out")
        return LeftOut.read(document)

    def value(self, output: Output, allowance: Allowance) -> Value:
        """An output as it is shown, with the interval that holds the exact value and that of the noise alone."""
        output = self._as_released(output)
        needed = self._needed(output)
        values = [scaled(item.values, factor_from(item.mechanism)) for item in needed]
        errors = self.errors(output, allowance)
        column, left = output.finish(values, errors), left_out_words(output.aggregate.losses(errors))
        found = Value(
            column.name,
            column.values,
            column.decimals,
            column.half_width,
            column.lower,
            column.upper,
            mechanism=" and ".join(dict.fromkeys(tag_of(mechanism_from(item.mechanism)) for item in needed)),
            scale=self._scales(output, needed),
            possible=column.possible,
            additive=column.additive,
            left_out=left,
            selecting=any(isinstance(mechanism_from(item.mechanism), KeySelection) for item in needed),
        )
        if found.selecting and isinstance(output.aggregate, CountDistinctOwner) and self.released.left_out is not None:
            found = self._if_shown(found, needed[0], errors[0].left_out, allowance)
        elif not left:
            return found
        noise = output.finish(values, self._noise_alone(output, allowance))
        alone = replace(found, half_width=noise.half_width, lower=noise.lower, upper=noise.upper, left_out="")
        return replace(found, noise=alone)

    def _if_shown(self, found: Value, item: NoisyMeasure, left: Bounds, allowance: Allowance) -> Value:
        """The count of owners that chose the keys, with an interval that holds among those shown."""
        selection = mechanism_from(item.mechanism)
        if not isinstance(selection, KeySelection):
            return found
        _, missed = self._split([item.measure], allowance)
        lower, upper = ends_if_shown(found.values, selection, missed)
        added = np.full(len(upper), np.inf) if left[1] is None else upper + left[1]
        return replace(found, half_width=None, lower=lower, upper=added, selecting=False)

    def errors(self, output: Output, allowance: Allowance) -> list[MeasureError]:
        """How far each measure of an output, as it was released, may be from the exact one."""
        texts = [measure.text for measure in output.aggregate.measures()]
        profile, for_noise = self._split(texts, allowance)
        left = [
            MeasureError(Fraction(0), self.left_out.bounds(text, profile), self.left_out.clamped(text, profile))
            for text in texts
        ]
        if allowance.groups is not None and added_up(output.aggregate):
            return self._over_groups(output, left, for_noise, allowance.groups)
        return self._with_noise(output, left, for_noise)

    def _split(self, texts: Sequence[str], allowance: Allowance) -> tuple[Fraction, Fraction]:
        """What bounds that a profile tells may miss, if any are used, and what is left for the noise."""
        profile, rest = self.left_out.split(texts, allowance.missed)
        return profile, rest * allowance.shown

    def within(self, output: Output, error: Fraction, allowance: Allowance) -> bool:
        """Whether the exact number is at most so far, in shown units, from that shown; averages are not held to it."""
        output = self._as_released(output)
        aggregate, errors = output.aggregate, self.errors(output, allowance)
        left = [each.left_out for each in errors]
        if aggregate.coefficients is not None:
            left = [aggregate.remainder(errors), *(NOTHING for _ in errors[1:])]
        widths = [_farther(each.noise, ends) for each, ends in zip(errors, left, strict=True)]
        far = None if aggregate.depends_on_size else aggregate.half_width_at(0, widths)
        return far is None or far <= error

    def linear(self, output: Output, allowance: Allowance) -> tuple[list[tuple[NoisyMeasure, int]], Bounds] | None:
        """The measures that add up to an output, each with its coefficient, and what was left out of the sum.

        None where it is no sum of them, or where only a profile bounds what was left out, and may be wrong by itself.
        """
        output = self._as_released(output)
        aggregate, needed = output.aggregate, self._needed(output)
        if aggregate.coefficients is None or any(factor_from(item.mechanism) != 1 for item in needed):
            return None
        if self.released.left_out is None or not all(self.left_out.certain(item.measure) for item in needed):
            return None
        return list(zip(needed, aggregate.coefficients, strict=True)), aggregate.remainder(
            self.errors(output, allowance)
        )

    def _with_noise(self, output: Output, left: Sequence[MeasureError], missed: Fraction) -> list[MeasureError]:
        aggregate, needed = output.aggregate, self._needed(output)
        low, high = aggregate.remainder(left) if aggregate.coefficients is not None else NOTHING
        room = None if low is None or high is None else Fraction(high - low)
        noise = errors_of(aggregate, [mechanism_from(item.mechanism) for item in needed], 1 - missed, room)
        widths = scaled_errors(noise, [factor_from(item.mechanism) for item in needed])
        return [replace(error, noise=width) for error, width in zip(left, widths, strict=True)]

    def _over_groups(
        self, output: Output, left: Sequence[MeasureError], missed: Fraction, groups: int
    ) -> list[MeasureError]:
        """A part of what may be missed goes to groups that lose more than an even share; the part that is best for it.

        Of all that is left out on one side, U, at most a share s of G groups can lose more than U / (s G).
        """
        sides = sum(end != 0 for _, ends in output.aggregate.losses(left) for end in ends)
        if not sides or not groups:
            return self._with_noise(output, left, missed)
        tried = [self._with_noise(output, left, missed)]
        for part in TO_GROUPS:
            lost = missed * part
            even = lost * groups / sides
            spread = [
                MeasureError(each.noise, _shared(each.left_out, even), _shared(each.clamped, even)) for each in left
            ]
            tried.append(self._with_noise(output, spread, missed - lost))
        return min(tried, key=lambda errors: _length(errors[-1]))

    def _noise_alone(self, output: Output, allowance: Allowance) -> list[MeasureError]:
        nothing = [MeasureError(Fraction(0)) for _ in output.aggregate.measures()]
        return self._with_noise(output, nothing, allowance.missed * allowance.shown)

    def _as_released(self, output: Output) -> Output:
        """The output in the form, and over the values, whose measures were released."""
        noisy = self.noisy
        averaged = from_centres(output, self.released.centres)
        return as_released(clamped(averaged, self.released.bounds, noisy), noisy)

    def _needed(self, output: Output) -> list[NoisyMeasure]:
        noisy = self.noisy
        return [noisy[measure.text] for measure in output.aggregate.measures()]

    def _scales(self, output: Output, needed: Sequence[NoisyMeasure]) -> tuple[NoiseScale, ...]:
        aggregate, found = output.aggregate, []
        for name, measure, item in zip(names(aggregate), aggregate.measures(), needed, strict=True):
            scale = scale_of(mechanism_from(item.mechanism))
            if scale is not None:
                found.append(NoiseScale(name, float(shown(measure, scale * factor_from(item.mechanism)))))
        return tuple(found)


def _shared(ends: Bounds, groups: Fraction) -> Bounds:
    """Each end over so many groups, but never wider than it was."""
    low, high = (None if end is None else min(abs(end), math.floor(abs(end) / groups)) for end in ends)
    return None if low is None else -low, high


def _farther(noise: Fraction, ends: Bounds) -> Fraction:
    """How far a measure may be off; where a side is open, an error was asked of the rows that count alone."""
    low, high = ends
    return noise if low is None or high is None else noise + max(abs(low), abs(high))


def _length(error: MeasureError) -> Fraction:
    return 2 * error.noise + sum(abs(end) for end in error.left_out if end is not None)
