"""What an analyst can ask of a group, one aggregate a file: the measures it needs, and its value from noisy ones."""

from __future__ import annotations

from dither.sql.aggregates.aggregator import Aggregator, bounded
from dither.sql.aggregates.average import Average
from dither.sql.aggregates.chosen import ChosenMode, ChosenQuantile
from dither.sql.aggregates.count import Count
from dither.sql.aggregates.count_owners import CountDistinctOwner
from dither.sql.aggregates.distinct import CountDistinctValues
from dither.sql.aggregates.owner_total import SumOfOwners
from dither.sql.aggregates.sum import Sum
from dither.sql.aggregates.value import ValueColumn
from dither.sql.aggregates.variance import Variance

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
