"""Computing with noisy numbers: values as SQL computes them, and intervals that hold the exact result.

Nothing here touches data: every number has its noise already, so operators may be undefined, and are NULL there.
"""

from __future__ import annotations

from dither.sql.noisy.estimate import Estimate, constant, from_column, to_column
from dither.sql.noisy.terms import Condition, Given, Term
from dither.sql.noisy.words import Words

__all__ = ["Condition", "Estimate", "Given", "Term", "Words", "constant", "from_column", "to_column"]
