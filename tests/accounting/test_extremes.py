"""Far from everyday figures: right, rounded outward, or refused."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from dither.accounting import (
    GDP,
    PLD,
    RDP,
    ZCDP,
    ApproxDP,
    Bracket,
    Filter,
    Odometer,
    PureDP,
    advanced,
    advanced_inverse,
    calibrate,
    compose,
    group,
    optimal,
    optimal_of,
    parallel,
    replace_from_add_remove,
    subsample,
)
from dither.errors import DitherError, ParameterError
from dither.mechanisms import Laplace

# So many steps take more work than one reading may: then what holds without it is looked at.
pytestmark = pytest.mark.filterwarnings("ignore::dither.errors.WideBounds")


def test_what_is_smaller_than_floats_is_not_nothing():
    assert compose([GDP("1e-200"), PureDP("1e-200")]).epsilon_at(0) == math.inf
    assert compose([GDP("1e-200"), PureDP("1e-200")]).delta_at("1e-199") > 0
    for tiny in (PureDP("1e-200"), ApproxDP("1e-200", "1e-250"), GDP("1e-200"), ZCDP("1e-300")):
        assert RDP.of(tiny).epsilon_at(tiny.zcdp().delta) == math.inf
        assert RDP.of(tiny).delta_at(0) > 0
    assert GDP("1e-200").delta_at(0) >= 3.98e-201
    assert GDP("1e-200").zcdp().rho > 0


def test_nothing_stays_nothing():
    for nothing in (PureDP(0), ZCDP(0), GDP(0)):
        assert RDP.of(nothing).epsilon_at(0) == nothing.epsilon_at(0) == 0


def test_many_large_steps_do_not_hang():
    bracket = optimal(epsilon="0.1", k=10**9, at="1e-300")
    assert 0 < bracket.lower < bracket.upper < 5.2e6


@pytest.mark.parametrize(
    ("mu", "delta"), [("1e-60", "1e-110"), ("1e-100", "1e-300"), ("1e-200", "1e-6"), (10**140, "1e-6")]
)
def test_extreme_gaussians_read(mu, delta):
    low, high = GDP(mu).bounds_at(delta=delta)
    assert 0 <= low <= high
    assert GDP(mu).delta_at(high) <= float(delta) * (1 + 1e-9) or high > 1e12


@pytest.mark.parametrize("loss", [GDP(mu_squared=2 * 10**6), GDP("0.1") * 10**9])
def test_large_gaussians_have_narrow_brackets(loss):
    low, high = loss.bounds_at(delta="1e-6")
    assert high * (1 - 1e-6) < low <= high


def test_a_group_too_large_is_refused():
    with pytest.raises(ParameterError, match="promises nothing"):
        group(ApproxDP(100, "1e-6"), 10**9)


@pytest.mark.parametrize("guarantee", [PureDP(1), GDP(1), ZCDP(1), PLD.laplace(1), RDP({2: 1}), PureDP(1) * 3])
@pytest.mark.parametrize("order", [math.inf, math.nan, 1, 0.5, -1])
def test_orders_are_finite_and_above_1(guarantee, order):
    with pytest.raises(ParameterError, match="order"):
        guarantee.renyi(order)
    assert guarantee.renyi(1e308) >= guarantee.renyi(1.5) > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: Odometer(delta="1e-6", additive_delta=5),
        lambda: Odometer(delta="1e-6").spend("x"),
        lambda: Filter(PureDP(1)).spend("x"),
        lambda: PLD((), math.nan),
        lambda: PLD((), -1),
        lambda: PLD(((1, 1),)),
    ],
)
def test_refused(call):
    with pytest.raises(ParameterError):
        call()


def test_one_step_of_laplace_noise_is_exact_far_out():
    low, high = Laplace(epsilon=1, sensitivity=1).guarantee.bounds_at(delta="1e-299")
    assert 1 - 1e-12 < low <= high <= 1


# Every kind of guarantee, ordinary, tiny and huge.
GUARANTEES = {
    "pure nothing": PureDP(0),
    "pure tiny": PureDP("1e-300"),
    "pure": PureDP(1),
    "pure huge": PureDP("1e300"),
    "pure with a rho": PureDP(1, proven_rho=Fraction(1, 8)),
    "discrete Laplace": PureDP("0.1", proven_laplace_steps=7),
    "approximate": ApproxDP(1, "1e-6"),
    "approximate nothing": ApproxDP(0, "1e-300"),
    "approximate with a rho": ApproxDP(1, "1e-9", proven_rho=Fraction(1, 8)),
    "approximate with a mu": ApproxDP(1, "1e-9", proven_mu_squared=Fraction(1, 8)),
    "rho 0": ZCDP(0),
    "rho 1e-30": ZCDP("1e-30"),
    "rho 1e6": ZCDP(10**6),
    "rho tiny": ZCDP("1e-300"),
    "rho huge": ZCDP("1e300"),
    "rho with a delta": ZCDP(1, "1e-6"),
    "mu 0": GDP(0),
    "mu tiny": GDP("1e-150"),
    "mu": GDP(1),
    "mu huge": GDP("1e150"),
    "Renyi table": RDP({2: "0.2", 10: 1}),
    "Renyi of pure": RDP.of(PureDP(1)),
    "Renyi 1e-30": RDP(lambda order: order * 1e-30),
    "Renyi 1e6": RDP(lambda order: order * 1e6),
    "Laplace": PLD.laplace("0.1"),
    "pair": PLD.from_pmf(["3/4", "1/4"], ["1/4", "3/4"]),
    "apart": PLD.from_pmf([1, 0], [0, 1]),
    "four points": PLD.approximate(1, "1e-6"),
    "mix": compose([PureDP("0.1"), GDP("0.1"), ApproxDP(1, "1e-9")]),
    "huge and Gaussian": compose([PureDP("1e200"), GDP(1)]),
    "pure and huge Gaussian": compose([PureDP(1), GDP("1e140")]),
}
DELTAS = [0, "1e-300", "1e-30", "1e-6", "0.5", "0.999"]
EPSILONS = [0, "1e-300", "1e-12", 1, "1e5", "2e5", "1e12", "1e300"]


def answer(read):
    """What `read` says, None if it is refused; anything but an answer or a refusal fails."""
    try:
        return read()
    except DitherError:
        return None


@pytest.mark.parametrize("count", [0, 1, 7, 10**9])
@pytest.mark.parametrize("name", GUARANTEES)
def test_every_guarantee_is_right_or_refused(name, count):
    together = GUARANTEES[name] * count
    epsilons = [answer(lambda delta=delta: together.bounds_at(delta=delta)) for delta in DELTAS]
    deltas = [answer(lambda epsilon=epsilon: together.bounds_at(epsilon=epsilon)) for epsilon in EPSILONS]
    for found in epsilons + deltas:
        assert found is None or 0 <= found[0] <= found[1]
    assert all(found is None or found[1] <= 1 for found in deltas)
    # Curves fall: no lower bound is above the upper bound before it.
    for curve in (epsilons, deltas):
        known = [found for found in curve if found is not None]
        assert all(later[0] <= earlier[1] for earlier, later in itertools.combinations(known, 2))
    for delta, found in zip(DELTAS, epsilons, strict=True):
        upper = answer(lambda delta=delta: together.epsilon_at(delta))
        if found is not None and upper is not None:
            assert upper >= found[0]
    if count == 0:
        assert all(found == (0, 0) for found in epsilons + deltas)
        assert together.zcdp().rho == together.basic().epsilon == together.basic().delta == 0
    for order in (1.0000001, 2, 1e6, 1e300):
        divergence = answer(lambda order=order: together.renyi(order))
        assert divergence is None or divergence >= 0
    for way in (together.zcdp, together.basic, together.privacy_loss, lambda: together.rdp().epsilon_at("1e-6")):
        answer(way)


def test_nothing_composes_with_everything():
    for guarantee in (PureDP(1), GDP(1), PLD.laplace(1)):
        plan = compose([guarantee * 0, PureDP("0.5")])
        assert plan.epsilon_at("1e-6") == PureDP("0.5").epsilon_at("1e-6")
        assert (guarantee * 0 * 10**9).epsilon_at(0) == 0
    Filter(PureDP(1)).spend(PureDP(5) * 0)


def is_figure(found):
    if isinstance(found, Bracket):
        return 0 <= found.lower <= found.upper
    return found is None or not isinstance(found, (int, float, Fraction)) or found >= 0


@pytest.mark.parametrize("epsilon", [0, "1e-300", "1e-12", 1, "1e4", "1e300"])
@pytest.mark.parametrize("k", [0, 1, 10**9])
@pytest.mark.parametrize("delta", [0, "1e-300", "1e-6", "0.9"])
def test_every_theorem_is_right_or_refused(epsilon, k, delta):
    for mean in ("tight", "textbook"):
        total = answer(lambda mean=mean: advanced(epsilon=epsilon, k=k, delta_prime=delta, mean=mean))
        assert total is None or 0 <= total.epsilon <= k * Fraction(epsilon)
        each = answer(lambda mean=mean: advanced_inverse(epsilon=epsilon, k=k, delta_prime=delta, mean=mean))
        assert each is None or Fraction(epsilon) / k <= each <= Fraction(epsilon)
    best = answer(lambda: optimal(epsilon=epsilon, k=k, at=delta))
    assert is_figure(best)
    assert best is None or best.lower <= k * Fraction(epsilon)
    assert is_figure(answer(lambda: optimal_of([PureDP(epsilon), ApproxDP(epsilon, "1e-9")], at=delta)))


@pytest.mark.parametrize("name", GUARANTEES)
def test_every_way_to_use_a_guarantee_is_right_or_refused(name):
    guarantee = GUARANTEES[name]
    for size in (0, 1, 2, 10**9):
        answer(lambda size=size: group(guarantee, size))
    for rate in (0, "1e-300", "0.5", 1):
        answer(lambda rate=rate: subsample(guarantee, rate))
    answer(lambda: parallel([guarantee, guarantee]))
    answer(lambda: parallel([guarantee, guarantee], relation="replace"))
    answer(lambda: replace_from_add_remove(guarantee))
    for budget in (PureDP(1), ApproxDP(1, "1e-6"), ApproxDP("1e300", "1e-300"), ZCDP("1e-30"), ZCDP(10**6)):
        answer(lambda budget=budget: Filter(budget).spend(guarantee))
    meter = Odometer(delta="1e-300", additive_delta="1e-5")
    answer(lambda: meter.spend(guarantee))
    assert 0 <= meter.epsilon < math.inf


@pytest.mark.parametrize("family", ["gaussian", "laplace", "continuous_laplace", "pure"])
@pytest.mark.parametrize(
    "target",
    [
        PureDP(0),
        PureDP(1),
        ZCDP(0),
        ZCDP("1e-30"),
        ZCDP(10**6),
        GDP("1e-150"),
        GDP(0),
        RDP({2: 1}),
        ApproxDP(1, "1e-6"),
    ],
    ids=["pure 0", "pure", "rho 0", "rho 1e-30", "rho 1e6", "mu tiny", "mu 0", "Renyi", "approximate"],
)
def test_every_calibration_is_right_or_refused(family, target):
    for k in (0, 1, 1000):
        found = answer(lambda k=k: calibrate(family, target, k))
        assert found is None or found.noise > 0
        if found is not None and isinstance(target, ApproxDP):
            # either reading is rounded up, so one of them is enough
            kept = found.total.epsilon_at(target.delta) <= target.epsilon
            assert kept or found.total.delta_at(target.epsilon) <= target.delta


@pytest.mark.parametrize("epsilon", ["1e5", "1.5e5", "1e6", "1e9"])
def test_gaussian_deltas_at_large_epsilons_are_exact(epsilon, reference):
    from dither.exact.balls import precision

    at = Fraction(epsilon)
    mu = Fraction(2) * at  # near mu^2/2 the curve falls from 1 to 0
    guarantee = GDP(mu_squared=mu)
    low, high = guarantee.bounds_at(epsilon=at)
    with precision(1000):
        truth = reference.gaussian_delta(reference.number(mu).sqrt(), reference.number(at))
        assert not reference.number(Fraction(low)) > truth
        assert not reference.number(Fraction(high)) < truth
    assert guarantee.delta_at(at) == high
    assert high - low <= 1e-12 * high
    assert guarantee.delta_at(2 * at) < 1e-300
