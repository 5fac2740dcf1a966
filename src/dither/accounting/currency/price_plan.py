"""A written plan of releases, such as "100 counts at 0.1, 1 median at 0.5, delta 1e-6", and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.currency.price_list import Row, prices
from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.gaussian_curve import analytic_sigma
from dither.accounting.guarantees.gdp import GDP
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError
from dither.exact.balls import float_up
from dither.exact.parameters import positive, probability, whole

_MOST_CHARACTERS = 65_536
_MOST_ITEMS = 1000
_MOST_RELEASES = 10**12
# Commas, semicolons, line ends and the word "and" end an item; 1,000 at its beginning is a number.
_THOUSANDS = re.compile(r"(?:^|(?<=[,;\s]))[0-9]{1,3}(?:,[0-9]{3}){1,6}(?=\s[a-z])")
_END = re.compile(r"[,;\n]|\sand\s")
# The patterns below try every way to share out a run of spaces, so there is never more than one.
_SPACES = re.compile(r"[^\S\n]+")
_ITEM = re.compile(
    r"(?:(?P<count>[0-9][0-9_]{0,40}|an?|one)\s*(?:[x*]\s*|\s))?\s*(?P<what>[a-z]+)\s+at\s+"
    r"(?:(?P<unit>rho|mu|sigma|epsilon|eps)\s*[\s=]\s*)?(?P<amount>[^\s=]+)"
    r"(?:\s+with\s+(?:delta\s*[\s=]\s*)?(?P<delta>[^\s]+))?"
)
_DELTA = re.compile(r"(?:at\s+)?delta\s*[\s=]\s*(?P<delta>[^\s]+)")
_FORM = 'write how many, what, and the price of each: "100 counts at 0.1"'


@dataclass(frozen=True)
class WrittenPlan:
    """Guarantees with how often they are given, and the delta as written, if the plan names it."""

    parts: list[tuple[Guarantee, int]]
    delta: str | None


def read_plan(text: str) -> WrittenPlan:
    """The guarantees of a written plan with their counts; a part that is not understood is refused, with what is."""
    if len(text) > _MOST_CHARACTERS:
        raise ParameterError(f"a plan has at most {_MOST_CHARACTERS:,} characters; got {len(text):,}.")
    items = _items(text)
    if len(items) > _MOST_ITEMS:
        raise ParameterError(f"a plan has at most {_MOST_ITEMS} items; got {len(items)}.")
    deltas = [found for found in map(_DELTA.fullmatch, items) if found]
    if len(deltas) > 1:
        raise ParameterError(f"a plan is priced at one delta; got {len(deltas)}.")
    parts = [_read(item) for item in items if not _DELTA.fullmatch(item)]
    if not parts:
        raise ParameterError(f"the plan has no release; {_FORM}.")
    return WrittenPlan(parts, deltas[0]["delta"] if deltas else None)


@dataclass(frozen=True)
class PricedPlan:
    """What each theorem says of a plan at its delta, as that is written; None if epsilons alone add."""

    delta: str | None
    rows: list[Row]


def price_plan(text: str, delta: str | None = None) -> PricedPlan:
    """A written plan priced at the delta that it names, or at this one; a pure plan can do without.

    >>> price_plan("3 counts at 0.1").rows[0].epsilon
    0.30000000000000004
    """
    plan = read_plan(text)
    if plan.delta is None and delta is None and all(isinstance(guarantee, PureDP) for guarantee, _ in plan.parts):
        total = sum((guarantee.basic().epsilon * count for guarantee, count in plan.parts), Fraction(0))
        return PricedPlan(None, [Row("basic", float_up(total), True, "epsilons add; pure, without any delta")])
    written = one_delta(plan.delta, delta)
    return PricedPlan(written, prices(plan.parts, probability(written, "delta")))


def one_delta(in_plan: str | None, stated: str | None) -> str:
    """The delta as written, in the plan or beside it."""
    both = [text for text in (in_plan, stated) if text is not None]
    if not both:
        raise ParameterError('at which delta is epsilon read? Add "delta 1e-6" to the plan, or state one beside it.')
    if len({probability(text, "delta") for text in both}) > 1:
        raise ParameterError(f"the plan says delta {in_plan}, and beside it stands {stated}; give one of them.")
    return both[0]


def _items(text: str) -> list[str]:
    """What stands between commas, semicolons, line ends and "and", in lower case, with single spaces."""
    plain = _THOUSANDS.sub(lambda number: number[0].replace(",", ""), _SPACES.sub(" ", text.lower()).strip())
    return [item.strip() for item in _END.split(plain)]


def _read(item: str) -> tuple[Guarantee, int]:
    found = _ITEM.fullmatch(item)
    if found is None:
        raise ParameterError(f'cannot read "{item[:60]}"; {_FORM}, with commas between the items.')
    makers = _makers()
    make = makers.get(found["what"]) or makers.get(found["what"].removesuffix("s"))
    if make is None:
        raise ParameterError(
            f'unknown release "{found["what"][:60]}"; known are {", ".join(sorted(makers))}. '
            'Anything that is epsilon-DP is a "release".'
        )
    written = found["count"] or "1"
    many = int(written.replace("_", "")) if written[0].isdigit() else 1
    count = whole(many, "how many", most=_MOST_RELEASES)
    return make(found["unit"], found["amount"], found["delta"]), count


def _makers() -> dict[str, Callable[[str | None, str, str | None], Guarantee]]:
    """What each word of a plan means."""
    return {
        **dict.fromkeys(("count", "sum", "histogram", "laplace"), _laplace),
        **dict.fromkeys(("median", "quantile", "choice"), _choice),
        **dict.fromkeys(("release", "average", "mean"), _release),
        "gaussian": _gaussian,
        "test": _test,
    }


def _epsilon(unit: str | None, amount: str, delta: str | None) -> Fraction:
    if unit not in (None, "epsilon", "eps") or delta is not None:
        raise ParameterError("this release is priced by an epsilon alone, without delta, rho, mu or sigma.")
    return positive(amount, "epsilon")


def _laplace(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    # A sensitivity of one grid step is the most expensive law of this noise, so it covers all.
    return PureDP(_epsilon(unit, amount, delta), proven_laplace_steps=1)


def _choice(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    epsilon = _epsilon(unit, amount, delta)
    return PureDP(epsilon, proven_rho=epsilon**2 / 8)


def _release(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    return PureDP(_epsilon(unit, amount, delta))


def _gaussian(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    if unit in (None, "epsilon", "eps") and delta is not None:
        sigma = analytic_sigma(positive(amount, "epsilon"), probability(delta, "delta"))
        return GDP(mu_squared=1 / sigma**2)
    if unit not in ("rho", "mu", "sigma") or delta is not None:
        raise ParameterError('Gaussian noise is priced "at rho R", "at mu M", "at sigma S" or "at E with D" (a delta).')
    number = positive(amount, unit)
    square = {"rho": 2 * number, "mu": number**2, "sigma": 1 / number**2}[unit]
    return GDP(mu_squared=square)


def _test(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    if delta is None:
        raise ParameterError('tests have a delta: "3 tests at 0.5 with 1e-8".')
    return ApproxDP(_epsilon(unit, amount, None), probability(delta, "delta"))
