"""A budget on screen: granted, spent and left in the currency that it counts in, so that they add up."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from dither.exact.digits import decimal_text

BudgetView = Any  # dither.curator.budgets.BudgetView, which prints itself by this

_WIDTH = 30  # characters of the bar
_DIGITS = 6  # significant digits of what was granted
_HALVES = "  of delta {whole}, half turns rho into epsilon and half pays for keys from the data"


def budget_text(view: BudgetView) -> str:
    """Some lines: what was granted, a sum for each part that adds up, and what else its holder wants to know."""
    lines = [f"granted: {view.total.shown(up=False, without='rho')}"]
    cost = "epsilon" if view.total.rho is None else "rho"
    lines.append(f"{_sum(cost, view.total.adding, view.spent.adding, view)}   {_bar(view)}")
    if view.total.delta is not None:
        granted, spent = _for_keys(view)
        lines.append(_sum("delta", granted, spent, view))
    if view.kind == "zcdp":
        whole = _plain(view.total.delta or Fraction(0))
        spent_epsilon = _plain(view.spent.epsilon or Fraction(0), up=True)
        lines.append(_HALVES.format(whole=whole))
        lines.append(
            f"  spent so far amounts to epsilon {spent_epsilon}; one question may state at most epsilon "
            f"{_plain(view.free.epsilon or Fraction(0))}"
        )
    lines += [f"  {change}" for change in view.changes]
    lines += [f"  {view.state}"] if view.state != "open" else []
    if view.free != view.left:
        lines.append(f"  not reserved for analysts: {view.free.shown(up=False)}")
    return "\n".join(lines)


def budget_line(view: BudgetView) -> str:
    """What adds up, and what it was granted as."""
    cost = "epsilon" if view.total.rho is None else "rho"
    summed = _sum(cost, view.total.adding, view.spent.adding, view).strip()
    granted = "" if cost == "epsilon" and not view.total.delta else f" ({view.total.shown(up=False, without='rho')})"
    return f"{summed}{granted}{'' if view.state == 'open' else f', {view.state}'}"


def _sum(name: str, granted: Fraction, spent: Fraction, view: BudgetView) -> str:
    """Granted = spent + left, all in multiples of one decimal place: spent rounded up, so left is never overstated."""
    unit = _unit(granted)
    whole, gone = granted // unit, -(-spent // unit)
    whole = max(whole, gone)
    shown = [_plain(count * unit) for count in (whole, gone, whole - gone)]
    left = f"{shown[2]} {'that nobody spends any more' if view.closed else 'left'}"
    return f"  {name}: {shown[0]} granted = {shown[1]} spent + {left}"


def _unit(granted: Fraction) -> Fraction:
    """The decimal place to which figures are shown."""
    if not granted:
        return Fraction(1)
    with localcontext(prec=_DIGITS + 20):
        exponent = (Decimal(granted.numerator) / Decimal(granted.denominator)).adjusted()
    return Fraction(10) ** (exponent - _DIGITS + 1)


def _for_keys(view: BudgetView) -> tuple[Fraction, Fraction]:
    """The delta that adds up: all of it, or where rho does, the half that is not for turning rho into epsilon."""
    granted, spent = view.total.delta or Fraction(0), view.spent.delta or Fraction(0)
    if view.kind != "zcdp":
        return granted, spent
    return granted / 2, spent - (granted / 2 if view.spent.rho else 0)


def _bar(view: BudgetView) -> str:
    share = view.spent.adding / view.total.adding if view.total.adding else Fraction(1)
    full = -(-_WIDTH * share.numerator // share.denominator)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {float(share):.1%} spent"


def _plain(value: Fraction, *, up: bool = False) -> str:
    return decimal_text(value, up=up, digits=_DIGITS)
