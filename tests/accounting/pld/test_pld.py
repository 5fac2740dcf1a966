"""Certified curves of privacy losses: the truth, by 200-bit enumeration and closed forms, lies inside every bracket."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.accounting import GDP, PLD, ApproxDP, PureDP, compose
from dither.accounting.guarantees.gaussian_curve import epsilon_of_gaussian
from dither.accounting.pld.closed_forms import ContinuousLaplace, DiscreteLaplace, TwoPoint
from dither.accounting.pld.pairs.either_order import either_order
from dither.errors import ParameterError
from dither.exact.balls import precision
from dither.mechanisms import Laplace


def number(value):
    value = Fraction(value)
    return arb(value.numerator) / arb(value.denominator)


def two_point(epsilon, lost=0):
    e = number(epsilon)
    return [(e, (1 - number(lost)) / (1 + (-e).exp())), (-e, (1 - number(lost)) / (1 + e.exp()))], number(lost)


def discrete_laplace(epsilon, steps):
    """The outcomes clamped to [0, steps]: the loss is h(steps - 2x)."""
    h = number(epsilon) / steps
    q = (-h).exp()
    middle = [(h * (steps - 2 * x), (1 - q) / (1 + q) * q**x) for x in range(1, steps)]
    return [(h * steps, 1 / (1 + q)), *middle, (-h * steps, q**steps / (1 + q))], arb(0)


def pair(p, q):
    kept = [((number(a) / number(b)).log(), number(a)) for a, b in zip(p, q, strict=True) if a and b]
    return kept, sum((number(a) for a, b in zip(p, q, strict=True) if not b), arb(0))


def true_delta(parts, epsilon):
    """E_P[(1 - e^(epsilon - L))_+] of a sum of independent losses, by enumeration."""
    total, kept = [(arb(0), arb(1))], arb(1)
    for atoms, lost in parts:
        total = [(loss + more, mass * chance) for loss, mass in total for more, chance in atoms]
        kept *= 1 - lost
    at = number(epsilon)
    gains = (mass * (1 - (at - loss).exp()) for loss, mass in total if loss > at)
    return 1 - kept + sum(gains, arb(0))


def check(pld, orders, deltas=("0.1", "1e-3", "1e-6", "1e-12"), epsilons=(0, "0.5", 2)):
    """The bracket holds the truth: `orders` has the parts of each order of the pairs."""
    with precision(200):
        for delta in deltas:
            low, high = pld.bounds_at(delta=delta)
            target = number(Fraction(delta))
            if math.isfinite(high):
                assert all(not true_delta(parts, Fraction(high)) > target for parts in orders)
            if math.isfinite(low) and low > 0:
                assert any(not true_delta(parts, Fraction(low)) < target for parts in orders)
        for epsilon in epsilons:
            low, high = pld.bounds_at(epsilon=epsilon)
            truths = [true_delta(parts, Fraction(epsilon)) for parts in orders]
            assert all(not truth > number(Fraction(high)) for truth in truths)
            assert any(not truth < number(Fraction(low)) for truth in truths)


def random_composition(generator):
    """Different small distributions, with all orders of what they are made of: each part may go either way."""
    sides, parts = [], []
    for _ in range(generator.randint(2, 5)):
        kind = generator.choice(["pure", "lost", "laplace", "pmf"])
        epsilon = Fraction(generator.randint(1, 300), 200)
        if kind == "pure":
            parts.append(PLD.pure(epsilon))
            both = (two_point(epsilon),)
        elif kind == "lost":
            delta = Fraction(1, generator.randint(10**3, 10**7))
            parts.append(PLD.approximate(epsilon, delta))
            both = (two_point(epsilon, delta),)
        elif kind == "laplace":
            steps = generator.randint(1, 5)
            parts.append(PLD.discrete_laplace(epsilon, steps))
            both = (discrete_laplace(epsilon, steps),)
        else:
            p, q = ([generator.randint(0, 20) for _ in range(4)] for _ in range(2))
            p, q = ([Fraction(x + 1, sum(distribution) + 4) for x in distribution] for distribution in (p, q))
            parts.append(PLD.from_pmf(p, q))
            both = pair(p, q), pair(q, p)
        sides.append(both)
    return compose(parts).privacy_loss(), [list(orders) for orders in itertools.product(*sides)]


@pytest.mark.parametrize("seed", range(25))
def test_random_compositions_against_200_bits(seed):
    with precision(200):
        pld, orders = random_composition(random.Random(seed))
    check(pld, orders)


def test_each_release_may_go_either_way():
    p, q = [Fraction(9, 10), Fraction(1, 10)], [Fraction(999, 1000), Fraction(1, 1000)]
    with precision(200):
        mixed = [pair(p, q), pair(q, p)], [pair(p, q)] * 2, [pair(q, p)] * 2
        for plan in ([PLD.from_pmf(p, q), PLD.from_pmf(q, p)], [PLD.from_pmf(p, q)] * 2):
            high = compose(plan).epsilon_at("0.01")
            assert all(not true_delta(parts, Fraction(high)) > number(Fraction(1, 100)) for parts in mixed)
    assert max(PLD.from_pmf(p, q).bounds_at(delta="0.01")) == pytest.approx(math.log(90), rel=1e-4)


def test_the_order_may_be_chosen_from_the_answers():
    """Two steps of a replace mechanism: the second order is the best one for the loss so far."""
    p, q = (
        (Fraction(493, 1000), Fraction(503, 1000), Fraction(4, 1000)),
        (Fraction(264, 1000), Fraction(719, 1000), Fraction(17, 1000)),
    )
    at = "1.809"

    def best(left, ahead, behind, steps):
        """sup over adaptive tests and orders of P - e^left Q, by backward induction on the likelihoods."""
        if steps == 0:
            return max(ahead - left * behind, 0.0)
        return max(
            sum(best(left, ahead * a, behind * b, steps - 1) for a, b in zip(one, two, strict=True))
            for one, two in ((p, q), (q, p))
        )

    for steps in (1, 2, 3):
        truth = best(math.exp(float(at)), 1.0, 1.0, steps)
        assert (PLD.from_pmf(p, q, "replace") * steps).delta_at(at) >= truth * (1 - 1e-12)


@given(
    st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any),
    st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any),
    st.fractions(0, 20, max_denominator=30),
)
@settings(max_examples=200, deadline=None)
def test_either_order_has_the_larger_profile(first, second, x):
    p, q = ([Fraction(weight, sum(distribution)) for weight in distribution] for distribution in (first, second))
    a, b = either_order(p, q)
    assert sum(a) == sum(b) == 1
    assert min(a) >= 0 <= min(b)

    def profile(one, two):
        return sum(max(mass - x * other, 0) for mass, other in zip(one, two, strict=True))

    assert profile(a, b) == profile(b, a) == max(profile(p, q), profile(q, p))


def test_the_enumeration_catches_a_forgotten_count_and_an_inward_epsilon():
    with precision(200):
        parts = [two_point(Fraction(1, 2))] * 6
        high = (PLD.pure("0.5") * 6).epsilon_at("1e-3")
        assert not true_delta(parts, Fraction(high)) > number(Fraction(1, 1000))
        assert true_delta(parts, Fraction(high) * (1 - Fraction(1, 10**9))) > number(Fraction(1, 1000))
        assert true_delta(parts, Fraction(PLD.pure("0.5").epsilon_at("1e-3"))) > number(Fraction(1, 1000))


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", ["0.01", 1, 30])
def test_discrete_laplace_is_its_distribution(steps, epsilon):
    with precision(200):
        distribution = discrete_laplace(Fraction(epsilon), steps)
        check(
            PLD.discrete_laplace(epsilon, steps),
            [[distribution]],
            epsilons=(0, Fraction(epsilon) / 2, Fraction(epsilon)),
        )
        check((PLD.discrete_laplace(epsilon, steps) * 3).privacy_loss(), [[distribution] * 3])


def test_one_step_of_discrete_laplace_is_randomised_response():
    for count in (1, 10, 1000):
        one, two = PLD.discrete_laplace("0.1", 1) * count, PLD.pure("0.1") * count
        a, b = one.bounds_at(delta="1e-6"), two.bounds_at(delta="1e-6")
        assert a[0] <= b[1]
        assert b[0] <= a[1]


@pytest.mark.parametrize("count", [1, 10, 1000, 10**5])
def test_many_steps_tend_to_continuous_laplace(count):
    fine, limit = PLD.discrete_laplace("0.01", 10**9) * count, PLD.laplace("0.01") * count
    a, b = fine.bounds_at(delta="1e-6"), limit.bounds_at(delta="1e-6")
    assert a[0] <= b[1]
    assert b[0] <= a[1]
    assert a[1] == pytest.approx(b[1], rel=1e-3)
    coarse = PLD.discrete_laplace("0.01", 2) * count
    assert coarse.bounds_at(delta="1e-6")[1] >= b[0]


def test_continuous_laplace_has_its_closed_form():
    for epsilon in ("0.1", 1, 5):
        for at in (0, Fraction(epsilon) / 3, Fraction(epsilon) * 9 / 10):
            truth = -math.expm1((at - Fraction(epsilon)) / 2)
            low, high = PLD.laplace(epsilon).bounds_at(epsilon=at)
            assert low <= truth * (1 + 1e-12)
            assert truth <= high * (1 + 1e-12)
            assert high - low <= 2e-3 * truth


def test_spread_out_shifts_are_dominated():
    with precision(200):
        for a, b in ((1, 1), (1, 3), (2, 2), (4, 1)):
            whole = [discrete_laplace(Fraction(1), a + b)]
            parts = [discrete_laplace(Fraction(a, a + b), a), discrete_laplace(Fraction(b, a + b), b)]
            for k in range(-20, 20):
                assert not true_delta(parts, Fraction(k, 20)) > true_delta(whole, Fraction(k, 20)) + arb("1e-50")


@pytest.mark.parametrize("mu_squared", [Fraction(1, 10**30), Fraction(1, 5), Fraction(40)])
def test_gaussian_parts_agree_with_the_exact_curve(mu_squared):
    for delta in ("0.01", "1e-6", "1e-100"):
        low, high = GDP(mu_squared=mu_squared).bounds_at(delta=delta)
        assert low <= epsilon_of_gaussian(mu_squared, Fraction(delta)) <= high
        assert high - low <= 1e-9 * high
        # The same through the integral, with a part that costs next to nothing.
        mixed = compose([GDP(mu_squared=mu_squared), PureDP("1e-200")]).bounds_at(delta=delta)
        assert mixed[0] <= high
        assert mixed[1] >= low
        assert mixed[1] <= high * (1 + 1e-3) + 1e-150


@pytest.mark.parametrize("count", [10, 1000, 10**5, 10**9])
@pytest.mark.parametrize(
    "part",
    [PLD.pure("0.01"), PLD.laplace("0.01"), PLD.discrete_laplace("0.01", 3), PLD.approximate("0.01", "1e-20")],
    ids=["pure", "laplace", "discrete", "lost"],
)
def test_brackets_are_narrow(part, count):
    low, high = (part * count).bounds_at(delta="1e-6")
    assert 0 < low <= high
    assert high - low <= 1e-3 * high


@pytest.mark.parametrize("delta", ["0.5", "1e-3", "1e-6", "1e-30", "1e-300"])
def test_equal_responses_by_exact_binomial_tails(delta):
    from dither.accounting.pld.response_tails import binomial_epsilon

    for epsilon, count in ((Fraction(1, 100), 1000), (Fraction(1, 2), 100), (Fraction(1, 1000), 10**6)):
        pld = (PLD.pure(epsilon) * count).privacy_loss()
        low, high = pld.bounds_at(delta=delta)
        exact = binomial_epsilon(epsilon, count, Fraction(delta), (low, high))
        assert exact is not None
        assert low <= exact[1]
        assert exact[0] <= high
        assert high - low <= 1e-3 * high


@pytest.mark.parametrize(
    ("epsilon", "count", "delta"),
    [("0.00041", 97, "2e-30"), ("0.00022", 59, "2e-13"), (10**6, 3, "1e-6"), (4, 500, "0.9")],
)
def test_far_out_in_the_tail_of_few_steps(epsilon, count, delta):
    low, high = (PureDP(epsilon) * count).bounds_at(delta=delta)
    assert 0 < low <= high <= low * 1.001


def transform(distribution, z):
    """The transforms from their definitions, on complex balls."""
    if isinstance(distribution, ContinuousLaplace):
        e = number(distribution.epsilon)
        # E e^(zL): two atoms and the density e^((L - e)/2)/4 between them
        w = z + acb(1) / 2
        middle = (-e / 2).exp() / 4 * ((w * e).exp() - (-w * e).exp()) / w
        return (z * e).exp() / 2 + (-z * e).exp() * (-e).exp() / 2 + middle
    if isinstance(distribution, TwoPoint):
        atoms = two_point(distribution.epsilon, distribution.lost)[0]
    else:
        atoms = discrete_laplace(distribution.epsilon, distribution.steps)[0]
    return sum(((z * loss).exp() * mass for loss, mass in atoms), acb(0))


@pytest.mark.parametrize(
    "distribution",
    [
        TwoPoint(Fraction(1, 100)),
        TwoPoint(Fraction(5), Fraction(1, 1000)),
        ContinuousLaplace(Fraction(1, 100)),
        ContinuousLaplace(Fraction(7)),
        DiscreteLaplace(Fraction(1, 3), 2),
        DiscreteLaplace(Fraction(4), 9),
        DiscreteLaplace(Fraction(1, 50), 40),
    ],
    ids=str,
)
def test_float_transforms_are_as_good_as_they_say(distribution):
    """The trust placed in NumPy's functions: every value within its stated error of a 256-bit evaluation."""
    for theta in (1e-3, 0.7, 30.0, 2e3):
        scale = 1 / float(distribution.epsilon)
        times = np.concatenate([np.linspace(0, 40, 60) * scale, np.geomspace(1e-6, 1e4, 40) * scale])
        value, error = distribution.ratio(theta, times)
        cumulant, wrong = distribution.cumulant(np.array([theta]))
        with precision(256):
            whole = transform(distribution, acb(arb(theta)))
            assert abs(float((whole.real.log() - arb(float(cumulant[0]))).mid())) <= float(wrong[0])
            for t, r, x in zip(times, value, np.broadcast_to(error, times.shape), strict=True):
                true = transform(distribution, acb(arb(theta), arb(float(t)))) / whole
                off = abs(true - acb(float(r.real), float(r.imag)))
                assert float(off.upper()) <= x


@given(
    epsilons=st.lists(st.fractions(Fraction(1, 1000), 3, max_denominator=1000), min_size=1, max_size=6),
    points=st.lists(st.fractions(0, 4, max_denominator=50), min_size=2, max_size=4),
)
@settings(max_examples=25, deadline=None)
def test_curves_fall_and_a_free_part_changes_nothing(epsilons, points):
    total = compose([PureDP(epsilon) for epsilon in epsilons])
    curve = [total.bounds_at(epsilon=point) for point in sorted(points)]
    for (_, before), (after, _) in itertools.pairwise(curve):
        assert after <= before
    free = compose([total, PureDP(0), ApproxDP(0, "1e-300"), GDP(0)])
    for epsilon in points:
        a, b = total.bounds_at(epsilon=epsilon), free.bounds_at(epsilon=epsilon)
        assert a[0] <= b[1] + 1e-290
        assert b[0] <= a[1] + 1e-290


@given(st.lists(st.integers(0, 30), min_size=2, max_size=6), st.data())
@settings(max_examples=25, deadline=None)
def test_delta_at_0_is_total_variation_and_orders_mirror_each_other(masses, data):
    p = [Fraction(x + 1, sum(masses) + len(masses)) for x in masses]
    q = data.draw(st.permutations(p))
    variation = sum((max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
    low, high = PLD.from_pmf(p, q).bounds_at(epsilon=0)
    assert low <= variation * (1 + Fraction(1, 10**12))
    assert variation <= Fraction(high) * (1 + Fraction(1, 10**12))
    with precision(200):  # delta_PQ(e) = 1 - e^e + e^e delta_QP(-e)
        for epsilon in (Fraction(1, 4), Fraction(1)):
            one, other = (true_delta([pair(*order)], e) for order, e in (((p, q), epsilon), ((q, p), -epsilon)))
            assert abs(one - (1 - number(epsilon).exp() * (1 - other))) < 1e-40


@pytest.mark.filterwarnings("ignore::dither.errors.WideBounds")
@pytest.mark.parametrize("delta", ["1e-300", "1e-30", "0.5", "0.999"])
@pytest.mark.parametrize("count", [1, 7, 10**3, 10**9])
def test_extremes_are_right_or_refused(delta, count):
    for part in (PureDP("1e-15"), PureDP(50), ApproxDP(1, "1e-12"), GDP("1e-15"), GDP(1000), PLD.laplace("1e-9")):
        low, high = (part * count).bounds_at(delta=delta)
        assert not math.isnan(low)
        assert not math.isnan(high)
        assert 0 <= low <= high
        for epsilon in (0, "1e-12", 1, 10**4):
            low, high = (part * count).bounds_at(epsilon=epsilon)
            assert 0 <= low <= high <= 1


def test_a_part_that_is_always_lost_and_disjoint_outputs():
    apart = PLD.from_pmf([1, 0], [0, 1])
    assert apart.epsilon_at("0.5") == math.inf
    assert apart.delta_at(10) == 1
    half = PLD.from_pmf(["1/2", "1/2", 0], [0, "1/2", "1/2"])
    assert half.delta_at(0) == pytest.approx(0.5)
    assert half.epsilon_at("0.6") == pytest.approx(0)
    assert half.epsilon_at("0.4") == math.inf


def test_delta_0_adds_the_largest_losses():
    assert (PLD.pure("0.1") * 100).epsilon_at(0) == pytest.approx(10, rel=1e-12)
    assert (PLD.pure("0.1") * 100).epsilon_at(0) >= 10
    assert compose([PLD.pure(1), PLD.gaussian(1)]).epsilon_at(0) == math.inf


@pytest.mark.parametrize(
    "make",
    [
        lambda: PLD.pure("nan"),
        lambda: PLD.pure(-1),
        lambda: PLD.approximate(1, 1),
        lambda: PLD.discrete_laplace(1, 0),
        lambda: PLD.discrete_laplace(0, 1),
        lambda: PLD.laplace(math.inf),
        lambda: PLD.from_pmf(["0.5", "0.4"], ["0.5", "0.5"]),
        lambda: PLD.from_pmf([1], ["0.5", "0.5"]),
        lambda: PLD.subsampled_gaussian(0, "0.1"),
        lambda: PLD.subsampled_gaussian("0.04", "0.1"),
        lambda: PLD.subsampled_gaussian(1, "1.5"),
        lambda: PLD.pure(1).bounds_at(),
        lambda: PLD.pure(1).bounds_at(epsilon=1, delta="0.1"),
        lambda: PLD.from_pmf(["0.5", "0.5"], ["0.1", "0.9"]).zcdp(),
        lambda: PLD.subsampled_gaussian(1, "0.1").basic(),
    ],
)
def test_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_what_a_loss_costs_in_running_budgets():
    assert PLD.discrete_laplace(1, 2).zcdp() == Laplace(epsilon=1, sensitivity=2).guarantee.zcdp()
    assert PLD.approximate(1, "1e-6").basic() == ApproxDP(1, "1e-6")
    assert PLD.pure(1).zcdp() == PureDP(1).zcdp()
    assert float(PLD.laplace(1).zcdp().rho) == pytest.approx(math.exp(-1))
    assert PLD.gaussian(1).zcdp().rho == Fraction(1, 2)


def test_a_mechanism_states_the_curve_of_its_own_noise():
    count, wide = Laplace(epsilon=1, sensitivity=1), Laplace(epsilon=1, sensitivity=5)
    assert wide.guarantee.delta_at("0.5") < count.guarantee.delta_at("0.5") == PureDP(1).delta_at("0.5")
    assert (wide.guarantee * 100).epsilon_at("1e-6") < (count.guarantee * 100).epsilon_at("1e-6")
    assert (wide.guarantee * 100).epsilon_at("1e-6") > (PLD.laplace(1) * 100).bounds_at(delta="1e-6")[0]
