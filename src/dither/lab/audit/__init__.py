"""Attack every claim: a black-box auditor, a recorder of noise, and the neighbour harness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.lazy import loader

if TYPE_CHECKING:
    from dither.lab.audit.checking import check as check
    from dither.lab.audit.neighbours.recorder import recorded as recorded
    from dither.lab.audit.neighbours.times import question_times as question_times
    from dither.lab.audit.neighbours.times import timing as timing
    from dither.lab.audit.verdict import Evidence as Evidence
    from dither.lab.audit.verdict import Verdict as Verdict

HOMES = {
    "check": "dither.lab.audit.checking",
    "recorded": "dither.lab.audit.neighbours.recorder",
    "question_times": "dither.lab.audit.neighbours.times",
    "timing": "dither.lab.audit.neighbours.times",
    "Evidence": "dither.lab.audit.verdict",
    "Verdict": "dither.lab.audit.verdict",
}
__all__ = [*HOMES]
__getattr__ = loader(__name__, HOMES)
