"""Every rule from scalar syntax to core expressions: one table for the whole language."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.sql import casts, choices, functions, predicates, scalar, texts, times
from dither.sql.scalar import Scalars, Value

RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    **scalar.RULES,
    **predicates.RULES,
    **choices.RULES,
    **casts.RULES,
    **functions.RULES,
    **times.RULES,
    **texts.RULES,
}
