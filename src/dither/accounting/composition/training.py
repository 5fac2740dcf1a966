"""Training by noisy gradients of random batches: its epsilon, or the noise for an epsilon, in one call."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.accounting.composition.calibration import calibrate
from dither.accounting.composition.composition import Composition
from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.guarantee import Guarantee, read_delta
from dither.errors import ParameterError
from dither.exact.parameters import Number, positive, probability, whole

# What Opacus, dp-accounting and prv-accountant call the same things.
NAMES = {
    "noise_multiplier": "sigma",
    "sample_rate": "rate",
    "sampling_probability": "rate",
    "num_steps": "steps",
    "num_compositions": "steps",
    "target_epsilon": "epsilon",
    "target_delta": "delta",
}


@dataclass(frozen=True)
class Training:
    """`steps` releases of Gaussian noise `sigma` on Poisson samples of `rate`, and what they promise at `delta`.

    `epsilon` is rounded up and `lower` down: the exact figure lies between. `guarantee` knows the whole curve.
    """

    sigma: Fraction
    rate: Fraction
    steps: int
    delta: Fraction
    guarantee: Composition
    epsilon: float
    lower: float


def sgd(
    *,
    sigma: Number | None = None,
    rate: Number | None = None,
    steps: int | None = None,
    delta: Number | None = None,
    epsilon: Number | None = None,
    epochs: Number | None = None,
    **names: Any,
) -> Training:
    """Noisy stochastic gradient descent: give `sigma` for its epsilon at `delta`, or `epsilon` for the smallest sigma.

    sigma is the noise of a sum of gradients over the bound of each gradient's norm. Each record is in a batch with
    probability `rate`, independently and afresh: batches of a fixed size from a shuffled list are not that, and are not
    covered. Records are protected under add_remove. Instead of `steps` give `epochs`. The names of other accountants
    are understood as well: noise_multiplier, sample_rate, sampling_probability, target_epsilon, target_delta.

    >>> round(sgd(sigma="1.1", rate="256/60000", steps=14_000, delta="1e-5").epsilon, 3)
    2.376
    >>> round(float(sgd(epsilon=2, rate="256/60000", steps=14_000, delta="1e-5").sigma), 3)
    1.222
    """
    given = _read({"sigma": sigma, "rate": rate, "steps": steps, "delta": delta, "epsilon": epsilon}, names)
    if given["rate"] is None or given["delta"] is None:
        raise ParameterError("give rate=, the probability with which a record is in a batch, and delta=.")
    if (given["sigma"] is None) == (given["epsilon"] is None):
        raise ParameterError("give sigma= for its epsilon, or epsilon= for the smallest sigma.")
    chance, target = positive(given["rate"], "rate"), read_delta(given["delta"])
    if not chance <= 1:
        raise ParameterError(f"rate must be at most 1; got {float(chance):g}.")
    count = _steps(given["steps"], epochs, chance)
    if given["sigma"] is not None:
        noise = positive(given["sigma"], "sigma")
    else:
        wanted = ApproxDP(positive(given["epsilon"], "epsilon"), probability(target, "delta"))
        noise = calibrate(lambda sigma: _release(sigma, chance), wanted, count).noise
    total = _release(noise, chance) * count
    low, high = total.bounds_at(delta=target)
    return Training(noise, chance, count, target, total, high, low)


def _release(sigma: Fraction, rate: Fraction) -> Guarantee:
    from dither.accounting.pld.pld import PLD

    return PLD.subsampled_gaussian(sigma, rate)


def _read(given: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """What was given under our names, and under those of others; each at most once."""
    for name, value in names.items():
        ours = NAMES.get(name)
        if ours is None:
            raise ParameterError(f"sgd knows no {name}; known are {', '.join([*given, 'epochs', *NAMES])}.")
        if given[ours] is not None:
            raise ParameterError(f"{name} and {ours} are the same thing; give one of them.")
        given[ours] = value
    return given


def _steps(steps: int | None, epochs: Number | None, rate: Fraction) -> int:
    if (steps is None) == (epochs is None):
        raise ParameterError("give steps= or epochs=, one of them.")
    if steps is not None:
        return whole(steps, "steps")
    return math.ceil(positive(epochs, "epochs") / rate)  # type: ignore[arg-type]
