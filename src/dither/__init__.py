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
from dither.mechanisms import (
    REFUSED,
    BoundedLocalSensitivity,
    Exponential,
    Gaussian,
    KeySelection,
    Laplace,
    NameAndShame,
    NoisyMax,
    PermuteAndFlip,
    ProposeTestRelease,
    RandomizedResponse,
    SmoothCauchy,
    SmoothGaussian,
    SmoothLaplace,
    SmoothLaplaceLogNormal,
    SmoothLomax,
    SmoothStudentT,
    SparseVector,
    StableRelease,
)
from dither.neighbours import Relation

__version__ = "0.1.0"

__all__ = [
    "REFUSED",
    "ZCDP",
    "Analyst",
    "Answer",
    "ApproxDP",
    "Bool",
    "BoundedLocalSensitivity",
    "BudgetExceeded",
    "BudgetView",
    "Category",
    "Curator",
    "Date",
    "DitherError",
    "Exponential",
    "Filter",
    "Fixed",
    "Gaussian",
    "Int",
    "KeySelection",
    "Laplace",
    "LedgerCorrupt",
    "LedgerError",
    "NameAndShame",
    "NoisyMax",
    "NotPublic",
    "ParameterError",
    "PermuteAndFlip",
    "PolicyError",
    "ProposeTestRelease",
    "PureDP",
    "QueryFailed",
    "RandomizedResponse",
    "Relation",
    "RelationMismatch",
    "SmoothCauchy",
    "SmoothGaussian",
    "SmoothLaplace",
    "SmoothLaplaceLogNormal",
    "SmoothLomax",
    "SmoothStudentT",
    "SparseVector",
    "StableRelease",
    "Text",
    "Timestamp",
    "UnsupportedQuery",
    "compose",
    "sensitivity",
]
