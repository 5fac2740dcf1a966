"""What it costs to trust nobody: the error of one count of participants, by whom they trust."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dither.accounting import shuffle_inverse
from dither.exact.parameters import Number, positive, whole

_CAPTIONS = ("a trusted curator", "two aggregators, one of them honest", "a shuffler", "nobody")


def price_of_trust(participants: int, epsilon: Number, delta: Number = "1e-6") -> Mapping[str, float]:
    """The root-mean-square error of a count of `participants` who answer yes or no, at the same epsilon under replace.

    Exactly, from the distributions. A curator adds discrete Laplace noise, two aggregators add it twice. Participants
    who trust nobody answer by randomised response; those who trust a shuffler answer so too, by a larger epsilon that
    is (epsilon, delta) once they are shuffled: no other row has a delta.

    >>> {who: round(error, 1) for who, error in price_of_trust(10_000, 1).items()}["nobody"]
    96.0
    """
    count, price = whole(participants, "participants"), positive(epsilon, "epsilon")
    q = math.exp(-price)
    central = math.sqrt(2 * q) / (1 - q)
    local, shuffled = (_of_responses(count, float(own)) for own in (price, shuffle_inverse(price, count, delta)))
    return dict(zip(_CAPTIONS, (central, math.sqrt(2) * central, shuffled, local), strict=True))


def _of_responses(count: int, epsilon: float) -> float:
    """sqrt(n p (1 - p)) / (2 p - 1), p = e^epsilon / (e^epsilon + 1): whatever the answers are."""
    return math.sqrt(count) / (2 * math.sinh(epsilon / 2))
