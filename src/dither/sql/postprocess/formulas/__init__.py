"""Computing with noisy numbers: values as SQL computes them, and intervals that hold the exact result.

Nothing here touches data: every number has its noise already, so operators may be undefined, and are NULL there.
"""

from __future__ import annotations

from dither.sql.postprocess.formulas.estimate import Estimate, constant, from_column, to_column, within
from dither.sql.postprocess.formulas.key_words import Words
from dither.sql.postprocess.formulas.terms import Condition, Given, Term

__all__ = ["Condition", "Estimate", "Given", "Term", "Words", "constant", "from_column", "to_column", "within"]
