"""Conditions on noisy numbers: what the values shown say, and what the exact ones may say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dither.sql.postprocess.formulas.estimate import Estimate, Flags, aligned, as_float, floats, nothing

_NEVER, _ALWAYS = np.zeros(1, dtype=bool), np.ones(1, dtype=bool)


@dataclass(frozen=True, eq=False)
class Verdict:
    """A truth per group: true, NULL or else false as shown; and each of the three as the exact numbers may have it."""

    true: Flags
    null: Flags
    may_be_true: Flags
    may_be_false: Flags
    may_be_null: Flags

    @property
    def false(self) -> Flags:
        return ~self.true & ~self.null


def certain(true: Flags, null: Flags = _NEVER) -> Verdict:
    """A truth about public values, on which noise has no influence."""
    true = true & ~null
    return Verdict(true, null, true, ~true & ~null, null)


def fixed(truth: bool | None) -> Verdict:
    """The same in every group."""
    return certain(np.full(1, truth is True), np.full(1, truth is None))


def compare(operator: str, left: Estimate, right: Estimate) -> Verdict:
    """= <> < <= > >= of two numbers; NULL if one of them is."""
    left, right = aligned(left, right)
    if operator in (">", ">="):
        operator, left, right = operator.replace(">", "<"), right, left
    null = left.null | right.null
    may_be_null = left.maybe_null | right.maybe_null
    (a, al, au), (b, bl, bu) = ((part.values, part.lower, part.upper) for part in (left, right))
    if operator in ("=", "<>"):
        equal, overlap = _flags(a == b), _flags((al <= bu) & (bl <= au))
        same = _flags((al == au) & (bl == bu) & (al == bl))
        found = Verdict(equal & ~null, null, overlap, ~same, may_be_null)
        return found if operator == "=" else negation(found)
    if operator == "<":
        return Verdict(_flags(a < b) & ~null, null, _flags(al < bu), _flags(au >= bl), may_be_null)
    return Verdict(_flags(a <= b) & ~null, null, _flags(al <= bu), _flags(au > bl), may_be_null)


def is_null(operand: Estimate) -> Verdict:
    null = operand.null
    return Verdict(null, _NEVER, operand.maybe_null | _NEVER, _ALWAYS, _NEVER)


def negation(truth: Verdict) -> Verdict:
    return Verdict(truth.false, truth.null, truth.may_be_false, truth.may_be_true, truth.may_be_null)


def conjunction(left: Verdict, right: Verdict) -> Verdict:
    false = left.false | right.false
    true = left.true & right.true
    may_be_null = (left.may_be_null & (right.may_be_null | right.may_be_true)) | (right.may_be_null & left.may_be_true)
    may_be_false = left.may_be_false | right.may_be_false
    return Verdict(true, ~true & ~false, left.may_be_true & right.may_be_true, may_be_false, may_be_null)


def disjunction(left: Verdict, right: Verdict) -> Verdict:
    return negation(conjunction(negation(left), negation(right)))


def choose(cases: Sequence[tuple[Verdict, Estimate]], otherwise: Estimate | None) -> Estimate:
    """CASE: the value whose condition is the first to be true; the interval holds every branch that may be taken."""
    *branches, last = aligned(*(value for _, value in cases), nothing() if otherwise is None else otherwise)
    values, lower, upper, maybe_null = last.values, last.lower, last.upper, _NEVER
    reached, pending = _NEVER, _ALWAYS  # by some branch so far; by no condition that is surely true
    for (verdict, _), branch in zip(cases, branches, strict=True):
        here = pending & verdict.may_be_true
        lower = np.where(here, np.where(reached, np.minimum(lower, branch.lower), branch.lower), lower)
        upper = np.where(here, np.where(reached, np.maximum(upper, branch.upper), branch.upper), upper)
        maybe_null = maybe_null | (here & branch.maybe_null)
        reached, pending = reached | here, pending & (verdict.may_be_false | verdict.may_be_null)
    both = reached & pending
    lower = np.where(both, np.minimum(lower, last.lower), np.where(pending, last.lower, lower))
    upper = np.where(both, np.maximum(upper, last.upper), np.where(pending, last.upper, upper))
    maybe_null = maybe_null | (pending & last.maybe_null)
    for (verdict, _), branch in reversed(list(zip(cases, branches, strict=True))):
        values = np.where(verdict.true, branch.values, values)
    if last.is_float:
        return floats(values, lower, upper, maybe_null)
    parts = (*branches, last)
    whole, factors = all(part.whole for part in parts), max(part.factors for part in parts)
    return Estimate(values, lower, upper, last.decimals, maybe_null, whole, factors)


def nullif(left: Estimate, right: Estimate) -> Estimate:
    """NULL where both are equal."""
    equal, shown = compare("=", left, right), as_float(left)
    values = np.where(equal.true, np.nan, shown.values)
    return replace(floats(values, shown.lower, shown.upper, shown.maybe_null | equal.may_be_true), whole=left.whole)


def _flags(found: Any) -> Flags:
    return np.asarray(found, dtype=bool)
