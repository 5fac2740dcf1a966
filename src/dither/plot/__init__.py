"""Pictures with altair, from plain numbers: nothing here knows a mechanism or an answer, they bring what is drawn.

Each function returns an altair chart; `chart.save("name.svg")` writes it, as .png and .html too.
"""

from __future__ import annotations

from dither.plot.bars import Panel, bars
from dither.plot.choices import neighbouring_scores, two_choices
from dither.plot.columns import columns
from dither.plot.distributions import Distribution, Neighbours, steps_around, steps_of_runs, two_distributions
from dither.plot.outcome_text import words
from dither.plot.style import MissingPackage, formatted

__all__ = [
    "Distribution",
    "MissingPackage",
    "Neighbours",
    "Panel",
    "bars",
    "columns",
    "formatted",
    "neighbouring_scores",
    "steps_around",
    "steps_of_runs",
    "two_choices",
    "two_distributions",
    "words",
]
