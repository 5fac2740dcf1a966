"""Whether a mechanism repeats its random choices: two calls on the same data that agree output by output."""

from __future__ import annotations

import math

import numpy as np

from dither.lab.audit.columns import Column, Outputs

_FALSE_ALARM = 1e-12


def repeats(one: Outputs, other: Outputs) -> bool:
    """True if the shorter batch is the beginning of the other, and that is no coincidence.

    Of independent outputs all orders are equally likely. Given which values came how often, the chance that a second
    batch has them in the very same order is at most 1 over the number of orders. Constant outputs have one order only
    and are never called repeated.
    """
    size = min(len(one), len(other))
    if one.columns.keys() != other.columns.keys():
        return False
    if not all(_same(one.columns[name], other.columns[name], size) for name in one.columns):
        return False
    return any(_orders(column, size) > -math.log(_FALSE_ALARM) for column in one.columns.values())


def _same(one: Column, other: Column, size: int) -> bool:
    if (one.labels is None) != (other.labels is None):
        return False
    if (
        one.labels is not None
        and other.labels is not None
        and not np.array_equal(one.labels[:size], other.labels[:size])
    ):
        return False
    return np.array_equal(one.values[:size], other.values[:size], equal_nan=one.values.dtype.kind == "f")


def _orders(column: Column, size: int) -> float:
    """The logarithm of the number of orders in which these values can come."""
    values = column.values[:size] if column.labels is None else np.array([str(label) for label in column.labels[:size]])
    counts = np.unique(values, return_counts=True)[1]
    return math.lgamma(size + 1) - sum(math.lgamma(count + 1) for count in counts.tolist())
