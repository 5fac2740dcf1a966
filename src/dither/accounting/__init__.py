"""Guarantees, how they compose, and budgets that cannot be overrun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.accounting.composition.advanced import advanced, advanced_inverse
from dither.accounting.composition.azuma import azuma
from dither.accounting.composition.bounded_range import bounded_range
from dither.accounting.composition.calibration import Calibration, calibrate
from dither.accounting.composition.closed_inverse import closed_inverse
from dither.accounting.composition.composition import Composition, compose, repeat
from dither.accounting.composition.events import from_event
from dither.accounting.composition.group import group, replace_from_add_remove
from dither.accounting.composition.losses import certain_loss_of, distribution_says_all, log_moments_of, privacy_loss_of
from dither.accounting.composition.optimal import Bracket, optimal, optimal_inverse, optimal_of
from dither.accounting.composition.parallel import parallel
from dither.accounting.composition.shuffling import closed_shuffle, shuffle, shuffle_inverse
from dither.accounting.composition.subsampling import subsample
from dither.accounting.composition.tradeoff import tradeoff
from dither.accounting.composition.training import Training, sgd
from dither.accounting.composition.triangle import triangle
from dither.accounting.currency.currency import Currency, Price
from dither.accounting.currency.filter import Filter
from dither.accounting.currency.odometer import Odometer
from dither.accounting.currency.renyi import RenyiFilter, RenyiOdometer
from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.gdp import GDP
from dither.accounting.guarantees.guarantee import Guarantee, Theory
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.rdp import RDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.lazy import listing, loader

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
    "RenyiFilter",
    "RenyiOdometer",
    "Training",
    "advanced",
    "advanced_inverse",
    "azuma",
    "bounded_range",
    "calibrate",
    "closed_inverse",
    "closed_shuffle",
    "compose",
    "from_event",
    "group",
    "optimal",
    "optimal_inverse",
    "optimal_of",
    "parallel",
    "replace_from_add_remove",
    "sgd",
    "shuffle",
    "shuffle_inverse",
    "subsample",
    "triangle",
]

Guarantee.theory = Theory(privacy_loss_of, certain_loss_of, distribution_says_all, log_moments_of, repeat, tradeoff)

# Distributions of privacy losses are many modules, and no question needs them.
__getattr__ = loader(__name__, {"PLD": "dither.accounting.pld"})
__dir__ = listing(__all__)
