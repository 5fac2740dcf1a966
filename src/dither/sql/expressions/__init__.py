"""The core calculus that engines evaluate: total functions over integers, text and three-valued booleans.

Every numeric node carries the interval its value must lie in (`low`, `high`, in storage units) and the number of
decimals those units stand for, so widths, clamps and sensitivities follow from declarations alone. No node can raise
on any row: division and modulo by zero give NULL, comparisons with NULL give NULL.

>>> age = Stored("age", 0, 120, 0, may_be_null=False)
>>> Multiply(Subtract(age, Constant(60)), Constant(-2)).bounds
(-120, 120)
"""

from __future__ import annotations

from dither.sql.expressions.base import Boolean, Expression, Numeric, Textual
from dither.sql.expressions.numbers import (
    Absolute,
    Add,
    Binary,
    Case,
    Clamp,
    Coalesce,
    Constant,
    Divide,
    Greatest,
    Least,
    Modulo,
    Multiply,
    Negate,
    Null,
    Rescale,
    Several,
    Stored,
    Subtract,
    cut,
    hull,
)
from dither.sql.expressions.truths import (
    Among,
    And,
    Compare,
    CompareText,
    Comparison,
    Is,
    IsNull,
    Like,
    Not,
    Or,
    Run,
    StoredText,
    TextAmong,
    TextConstant,
    Truth,
)

__all__ = [
    "Absolute",
    "Add",
    "Among",
    "And",
    "Binary",
    "Boolean",
    "Case",
    "Clamp",
    "Coalesce",
    "Compare",
    "CompareText",
    "Comparison",
    "Constant",
    "Divide",
    "Expression",
    "Greatest",
    "Is",
    "IsNull",
    "Least",
    "Like",
    "Modulo",
    "Multiply",
    "Negate",
    "Not",
    "Null",
    "Numeric",
    "Or",
    "Rescale",
    "Run",
    "Several",
    "Stored",
    "StoredText",
    "Subtract",
    "TextAmong",
    "TextConstant",
    "Textual",
    "Truth",
    "cut",
    "hull",
]
