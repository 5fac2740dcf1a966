"""dither: a differential-privacy curator, and the exact toolbox under it."""

from dither import sensitivity
from dither.accounting import ZCDP, ApproxDP, Filter, PureDP, compose
from dither.answer import Answer
from dither.budgets import BudgetView
from dither.columns import Bool, Category, Date, Fixed, Int, Text, Timestamp
from dither.curator import Analyst, Curator
from dither.errors import (
    BudgetExceeded,
    DitherError,
    LedgerCorrupt,
    LedgerError,
    NotPublic,
    ParameterError,
    PolicyError,
    QueryFailed,
    RelationMismatch,
    UnsupportedQuery,
)
from dither.mechanisms import Gaussian, Laplace
from dither.neighbours import Relation

__version__ = "0.1.0"

__all__ = [
    "ZCDP",
    "Analyst",
    "Answer",
    "ApproxDP",
    "Bool",
    "BudgetExceeded",
    "BudgetView",
    "Category",
    "Curator",
    "Date",
    "DitherError",
    "Filter",
    "Fixed",
    "Gaussian",
    "Int",
    "Laplace",
    "LedgerCorrupt",
    "LedgerError",
    "NotPublic",
    "ParameterError",
    "PolicyError",
    "PureDP",
    "QueryFailed",
    "Relation",
    "RelationMismatch",
    "Text",
    "Timestamp",
    "UnsupportedQuery",
    "compose",
    "sensitivity",
]
