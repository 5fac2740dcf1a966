"""Every rule from scalar syntax to core expressions: one table for the whole language."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.sql.scalars import (
    casts,
    conditionals,
    conditions,
    number_functions,
    powers,
    scalar,
    text_functions,
    time_functions,
    time_labels,
)
from dither.sql.scalars.scalar import Scalars, Value

RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    **scalar.RULES,
    **conditions.RULES,
    **conditionals.RULES,
    **casts.RULES,
    **number_functions.RULES,
    **powers.RULES,
    **time_functions.RULES,
    **time_labels.RULES,
    **text_functions.RULES,
}
