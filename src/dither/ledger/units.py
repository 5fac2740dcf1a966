"""Integer units of an account: caps are rounded down, prices up, so rounding never gives budget away.

A unit of cost (epsilon or rho) is 10^-15; a unit of delta is the 10^-15 part of the account's own delta cap.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

from dither.errors import PolicyError
from dither.exact.parameters import SMALLEST, ceil_units, floor_units
from dither.ledger.values import Charge

SCALE = 10**15
COST_UNIT = Fraction(1, SCALE)
# SQLite keeps 64-bit integers. A price beyond every cap is kept as this one, which no account can hold.
BEYOND_EVERY_CAP = 2**63 - 1
SMALLEST_DELTA = SMALLEST / COST_UNIT  # of a cap: a unit of a smaller one would be no number that can be stated


@dataclass(frozen=True)
class Units:
    """Whole units of cost and of delta."""

    cost: int
    delta: int

    def __add__(self, other: Units) -> Units:
        return Units(self.cost + other.cost, self.delta + other.delta)

    def __sub__(self, other: Units) -> Units:
        return Units(self.cost - other.cost, self.delta - other.delta)

    def fits(self, cap: Units) -> bool:
        """Whether both counters stay within the cap."""
        return 0 <= self.cost <= cap.cost and 0 <= self.delta <= cap.delta


NOTHING = Units(0, 0)


def cap_units(cap: Charge) -> Units:
    """A cap rounded down; refused where it would be nothing or would not fit into 64 bits."""
    cost = floor_units(cap.cost, COST_UNIT)
    if not 1 <= cost < BEYOND_EVERY_CAP:
        raise PolicyError(f"a budget must lie between 1e-15 and 9223; got {show(cap.cost)}.")
    if not cap.delta < 1:
        raise PolicyError(f"the delta of a budget must be below 1; got {show(cap.delta)}.")
    return Units(cost, SCALE if cap.delta else 0)


def limit_units(cap: Charge, opening: Charge) -> Units:
    """A cap that an account got later, rounded down into its units, which are those of the cap it was opened with."""
    units = Units(cap_units(cap).cost, floor_units(cap.delta, opening.delta * COST_UNIT) if opening.delta else 0)
    if not units.delta < BEYOND_EVERY_CAP:
        raise PolicyError(f"the delta of this budget can be at most {show(opening.delta * 9223, up=False)}.")
    return units


def charge_units(charge: Charge, cap: Charge) -> Units:
    """A price rounded up into the units of the account with that cap."""
    cost = min(ceil_units(charge.cost, COST_UNIT), BEYOND_EVERY_CAP)
    if not charge.delta:
        return Units(cost, 0)
    # Without a delta cap there is no unit: any delta at all is one unit too many.
    delta = ceil_units(charge.delta, cap.delta * COST_UNIT) if cap.delta else 1
    return Units(cost, min(delta, BEYOND_EVERY_CAP))


def exact_charge(units: Units, cap: Charge) -> Charge:
    """What those units of the account with that cap are worth, exactly."""
    return Charge(units.cost * COST_UNIT, units.delta * COST_UNIT * cap.delta)


def show(value: Fraction, *, up: bool = True) -> str:
    """Six significant digits, rounded up (a price) or down (what is left)."""
    with localcontext() as context:
        context.prec = 6
        context.rounding = ROUND_CEILING if up else ROUND_FLOOR
        number = Decimal(value.numerator) / Decimal(value.denominator)
    number = number.normalize()
    return f"{number:f}" if not number or Decimal("1e-4") <= number <= Decimal("1e6") else f"{number:e}"
