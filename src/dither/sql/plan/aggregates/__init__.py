"""What an analyst can ask of a group, one aggregate a file: the measures it needs, and its value from noisy ones."""

from __future__ import annotations

from dither.sql.plan.aggregates.aggregator import Aggregator, bounded
from dither.sql.plan.aggregates.average import Average
from dither.sql.plan.aggregates.chosen_value import ChosenMode, ChosenQuantile
from dither.sql.plan.aggregates.count import Count
from dither.sql.plan.aggregates.distinct_count import CountDistinctValues
from dither.sql.plan.aggregates.owner_count import CountDistinctOwner
from dither.sql.plan.aggregates.owner_total import SumOfOwners
from dither.sql.plan.aggregates.sum import Sum
from dither.sql.plan.aggregates.variance import Variance
from dither.sql.postprocess.value_column import ValueColumn

__all__ = [
    "Aggregator",
    "Average",
    "ChosenMode",
    "ChosenQuantile",
    "Count",
    "CountDistinctOwner",
    "CountDistinctValues",
    "Sum",
    "SumOfOwners",
    "ValueColumn",
    "Variance",
    "bounded",
]
