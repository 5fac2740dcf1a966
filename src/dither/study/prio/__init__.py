"""Prio3 of the IETF's draft on verifiable distributed aggregation functions (draft-irtf-cfrg-vdaf-20).

A report is split into shares, one for each aggregator. Any of them but one look uniformly random; together the
aggregators check a proof that the report is in its declared range, and add up what they may not see.
"""

from dither.study.prio.circuits import Circuit, Count, Histogram, MultihotCountVec, Sum, SumVec
from dither.study.prio.fields import FIELD64, FIELD128, Field
from dither.study.prio.prio3 import Prio3, VerifyState

__all__ = [
    "FIELD64",
    "FIELD128",
    "Circuit",
    "Count",
    "Field",
    "Histogram",
    "MultihotCountVec",
    "Prio3",
    "Sum",
    "SumVec",
    "VerifyState",
]
