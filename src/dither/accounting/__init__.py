"""Guarantees, how they compose, and budgets that cannot be overrun."""

from __future__ import annotations

from dither.accounting.approx import ApproxDP
from dither.accounting.composition import Composition, compose
from dither.accounting.currency import Currency, Price
from dither.accounting.filter import Filter
from dither.accounting.gdp import GDP
from dither.accounting.guarantee import Guarantee
from dither.accounting.pld import PLD
from dither.accounting.pure import PureDP
from dither.accounting.rdp import RDP
from dither.accounting.zcdp import ZCDP

__all__ = [
    "GDP",
    "PLD",
    "RDP",
    "ZCDP",
    "ApproxDP",
    "Composition",
    "Currency",
    "Filter",
    "Guarantee",
    "Price",
    "PureDP",
    "compose",
]
