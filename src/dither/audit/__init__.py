"""Attack every claim: a black-box auditor, a recorder of noise, the neighbour harness, and the bug museum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.lazy import loader

if TYPE_CHECKING:
    from dither.audit.checking import check as check
    from dither.audit.neighbours import recorded as recorded
    from dither.audit.times import question_times as question_times
    from dither.audit.times import timing as timing
    from dither.audit.verdict import Evidence as Evidence
    from dither.audit.verdict import Verdict as Verdict

HOMES = {
    "check": "dither.audit.checking",
    "recorded": "dither.audit.neighbours",
    "question_times": "dither.audit.times",
    "timing": "dither.audit.times",
    "Evidence": "dither.audit.verdict",
    "Verdict": "dither.audit.verdict",
}
__all__ = [*HOMES]
__getattr__ = loader(__name__, HOMES)
