"""Guarantees, how they compose, and budgets that cannot be overrun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.accounting.advanced import advanced, advanced_inverse
from dither.accounting.approx import ApproxDP
from dither.accounting.calibrate import Calibration, calibrate
from dither.accounting.closed_inverse import closed_inverse
from dither.accounting.composition import Composition, compose, repeat
from dither.accounting.currency import Currency, Price
from dither.accounting.filter import Filter
from dither.accounting.gdp import GDP
from dither.accounting.group import group, replace_from_add_remove
from dither.accounting.guarantee import Guarantee, Theory
from dither.accounting.known import certain_loss_of, law_says_all, log_moments_of, privacy_loss_of
from dither.accounting.odometer import Odometer
from dither.accounting.optimal import Bracket, optimal, optimal_inverse, optimal_of
from dither.accounting.parallel import parallel
from dither.accounting.pure import PureDP
from dither.accounting.rdp import RDP
from dither.accounting.subsampling import subsample
from dither.accounting.triangle import triangle
from dither.accounting.zcdp import ZCDP
from dither.lazy import loader

if TYPE_CHECKING:
    from dither.accounting.pld import PLD as PLD

__all__ = [
    "GDP",
    "PLD",
    "RDP",
    "ZCDP",
    "ApproxDP",
    "Bracket",
    "Calibration",
    "Composition",
    "Currency",
    "Filter",
    "Guarantee",
    "Odometer",
    "Price",
    "PureDP",
    "advanced",
    "advanced_inverse",
    "calibrate",
    "closed_inverse",
    "compose",
    "group",
    "optimal",
    "optimal_inverse",
    "optimal_of",
    "parallel",
    "replace_from_add_remove",
    "subsample",
    "triangle",
]

Guarantee.theory = Theory(privacy_loss_of, certain_loss_of, law_says_all, log_moments_of, repeat)

# Distributions of privacy losses are many modules, and no question needs them.
__getattr__ = loader(__name__, {"PLD": "dither.accounting.pld"})
