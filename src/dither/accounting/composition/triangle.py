"""From one distribution to another by way of a third."""

from __future__ import annotations

from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, dyadic_up
from dither.neighbours import common_relation


def triangle(first: ZCDP, second: ZCDP) -> ZCDP:
    """If D_a(P||R) <= x a and D_a(R||Q) <= y a for all orders a > 1, then D_a(P||Q) <= (sqrt x + sqrt y)^2 a.

    The result is about datasets as far apart as the two together; rho is rounded up. Twice the same guarantee gives
    `group` of two. Bun and Steinke 2016, Proposition 1.9.

    >>> round(float(triangle(ZCDP("0.02"), ZCDP("0.03")).rho), 6)
    0.09899
    """
    if first.delta or second.delta:
        raise ParameterError("approximate zCDP (with a delta) has no triangle inequality here.")
    relation = common_relation([first, second])
    if not first.rho or not second.rho:
        return ZCDP(first.rho + second.rho, relation=relation)
    if first.rho == second.rho:
        return ZCDP(4 * first.rho, relation=relation)
    _, high = bounds(lambda: (ball(first.rho).sqrt() + ball(second.rho).sqrt()) ** 2)
    return ZCDP(dyadic_up(high), relation=relation)
