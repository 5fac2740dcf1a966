"""What is known about the losses behind a stated guarantee: their distribution, or their moments."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.conversion import epsilon_within_rho
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.exact.balls import ball, float_up, sign
from dither.exact.parameters import LARGEST

if TYPE_CHECKING:
    from dither.accounting.pld.distribution import Reals
    from dither.accounting.pld.pld import PLD


def privacy_loss_of(guarantee: Guarantee) -> PLD | None:
    """The worst pair of everything with this guarantee, None where no single pair is (rho alone)."""
    from dither.accounting.pld.closed_forms import DiscreteLaplace, TwoPoint
    from dither.accounting.pld.pld import PLD

    if guarantee.gaussian_mu_squared is not None:
        return PLD((), guarantee.gaussian_mu_squared, guarantee.relation)
    if isinstance(guarantee, PureDP):
        steps = guarantee.proven_laplace_steps
        distribution = (
            TwoPoint(guarantee.epsilon) if steps is None or steps == 1 else DiscreteLaplace(guarantee.epsilon, steps)
        )
        return PLD(((distribution, 1),), relation=guarantee.relation)
    if isinstance(guarantee, ApproxDP):
        return PLD(((TwoPoint(guarantee.epsilon, guarantee.delta), 1),), relation=guarantee.relation)
    return None


def certain_loss_of(guarantee: Guarantee) -> PLD | None:
    """The loss of a mechanism that has this guarantee; None if none is known.

    Where a rho is proven that randomised response with the stated epsilon does not have, one with a smaller epsilon
    has it: it is epsilon-DP and rho-zCDP as well. Where only a rho is stated, Gaussian noise with mu^2 = 2 rho (or
    less) is rho-zCDP, also if with probability delta all is lost.
    """
    from dither.accounting.pld.closed_forms import TwoPoint
    from dither.accounting.pld.pld import PLD

    if isinstance(guarantee, (PureDP, ApproxDP)) and has_sharper_rho(guarantee):
        distribution = TwoPoint(epsilon_within_rho(guarantee.epsilon, guarantee.zcdp().rho), guarantee.delta)
        return PLD(((distribution, 1),), relation=guarantee.relation)
    if isinstance(guarantee, ZCDP) and guarantee.proven_mu_squared is None:
        lost = ((TwoPoint(Fraction(0), guarantee.delta), 1),) if guarantee.delta else ()
        return PLD(lost, min(2 * guarantee.rho, LARGEST), guarantee.relation)
    return guarantee.privacy_loss()


def distribution_says_all(guarantee: Guarantee) -> bool:
    """Whether nothing sharper is proven about the mechanism than the distribution of its loss."""
    if isinstance(guarantee, (PureDP, ApproxDP)):
        return not has_sharper_rho(guarantee)
    return guarantee.privacy_loss() is not None


def has_sharper_rho(guarantee: PureDP | ApproxDP) -> bool:
    """Whether a rho is proven that randomised response with the stated epsilon does not (certainly) have."""
    rho, epsilon = guarantee.proven_rho, guarantee.epsilon
    if rho is None or guarantee.gaussian_mu_squared is not None or rho >= epsilon:
        return False
    if isinstance(guarantee, PureDP) and guarantee.proven_laplace_steps is not None:
        return False
    return sign(lambda: ball(rho) - ball(epsilon) * (ball(epsilon) / 2).tanh(), undecided=-1) < 0


def log_moments_of(guarantee: Guarantee, theta: Reals) -> Reals:
    """At least ln E_P[e^(theta L)] = theta D_(1+theta) for each theta > 0, apart from the additive delta.

    The smaller, order by order, of what the distribution of the loss and what a proven rho imply.
    """
    from dither.accounting.pld.distribution import UNDERFLOW

    loss = guarantee.privacy_loss()
    total = None if loss is None else loss.log_moments(theta)
    if total is not None and not isinstance(guarantee, (PureDP, ApproxDP)):
        return total
    exact = guarantee.zcdp().rho
    rho = max(float_up(exact), UNDERFLOW) if exact else 0.0
    with np.errstate(over="ignore"):
        linear: Reals = rho * theta * (theta + 1) * (1 + 1e-15)
    return linear if total is None else np.minimum(linear, total)
