"""The sparse vector technique: the one right form passes, six wrong ones are caught by the same check."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import BudgetExceeded, ParameterError
from dither.mechanisms import SparseVector, seal

EPSILON = 1.0
# Threat 39: tables of query values (a threshold of 0) and what one person can turn them into.
GENERAL = [
    ((0,) * 8, (1,) * 7 + (-1,)),
    ((0,) * 8, (-1,) * 4 + (1,) * 4),
    ((0, 1) * 4, (1, 0) * 4),
    ((0,) * 8, (1,) * 8),
]


def pmf(scale, reach):
    if scale == 0:
        return np.array([float(x == 0) for x in range(-reach, reach + 1)])
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))


def at_least(scale, need):
    """P[noise >= need], elementwise."""
    if scale == 0:
        return (need <= 0).astype(float)
    q = math.exp(-1 / scale)
    return np.where(need > 0, q ** np.abs(need) / (1 + q), 1 - q ** np.abs(1 - need) / (1 + q))


def transcripts(values, threshold_scale, query_scale, positives, shows=False):
    """The exact law of what is published. With `shows`, a positive also publishes the noisy value that was compared."""
    reach = 120
    rho = np.arange(-reach, reach + 1)
    weight = pmf(threshold_scale, reach)
    found = {}

    def walk(done, probability, left):
        if left == 0 or len(done) == len(values):
            found[done] = float((probability * weight).sum())
            return
        value = values[len(done)]
        above = at_least(query_scale, rho - value)
        walk((*done, False), probability * (1 - above), left)
        if shows:
            noise = pmf(query_scale, reach)
            for shown in range(-8, 9):
                exactly = np.where(shown >= rho, noise[shown - value + reach], 0.0)
                walk((*done, shown), probability * exactly, left - 1)
        else:
            walk((*done, True), probability * above, left - 1)

    walk((), np.ones(rho.size), positives)
    return found


def worst_loss(pairs, *form):
    losses = []
    for one, other in pairs:
        p, q = transcripts(one, *form), transcripts(other, *form)
        for key in p:
            a, b = p[key], q[key]
            if max(a, b) > 1e-200:
                losses.append(math.inf if min(a, b) == 0 else abs(math.log(a / b)))
    return max(losses)


def form_of(mechanism):
    return float(mechanism.threshold_scale), float(mechanism.query_scale), mechanism.positives


@pytest.mark.parametrize("positives", [1, 2, 3])
def test_the_right_form_keeps_epsilon(positives):
    mechanism = SparseVector(epsilon=1, sensitivity=1, positives=positives)
    assert worst_loss(GENERAL, *form_of(mechanism)) <= EPSILON + 1e-9
    monotone = SparseVector(epsilon=1, sensitivity=1, positives=positives, monotone=True)
    up = [((0,) * 8, (1,) * 8), ((0,) * 8, (1, 0) * 4), ((-1, 2) * 4, (0, 2) * 4)]
    assert worst_loss(up, *form_of(monotone)) <= EPSILON + 1e-9


NO_LIMIT = 8
PLANTED = {
    # name: threshold scale, query scale, positives, shows the compared value
    "no noise on the queries": (2.0, 0.0, 1, False),
    "no noise on the threshold": (0.0, 4.0, 1, False),
    "query noise not scaled with the number of positives": (2.0, 4.0, 4, False),
    "no stop": (2.0, 4.0, NO_LIMIT, False),
    "the scale for monotone queries where they are not": (2.0, 1.0, 1, False),
    "publishing the noisy value that was compared": (2.0, 4.0, 1, True),
}


@pytest.mark.parametrize("name", PLANTED)
def test_wrong_forms_are_caught(name):
    pairs = GENERAL
    if PLANTED[name][3]:
        # Values below, then one above: the shown value says that the threshold lies below it.
        pairs = [((0,) * 40 + (-6,), (1,) * 40 + (-7,))]
    assert worst_loss(pairs, *PLANTED[name]) > EPSILON + 0.05


def test_the_shown_value_is_caught_where_the_right_form_is_not():
    pairs = [((0,) * 40 + (-6,), (1,) * 40 + (-7,))]
    assert worst_loss(pairs, *form_of(SparseVector(epsilon=1, sensitivity=1))) <= EPSILON + 1e-9


def test_scales_and_split():
    half = SparseVector(epsilon=1, sensitivity=3, threshold_share="0.5")
    assert (half.threshold_scale, half.query_scale) == (6, 12)
    assert SparseVector(epsilon=1, sensitivity=3, threshold_share="0.5", monotone=True).query_scale == 6
    many = SparseVector(epsilon=1, sensitivity=1, positives=5, answer_epsilon="0.5")
    share = float(many.threshold_share)
    assert (1 - share) / share == pytest.approx(10 ** (2 / 3), rel=1e-4)
    assert many.answer_scale == 10
    assert many.guarantee.epsilon == Fraction(3, 2)
    monotone = SparseVector(epsilon=1, sensitivity=1, positives=5, monotone=True)
    assert float((1 - monotone.threshold_share) / monotone.threshold_share) == pytest.approx(5 ** (2 / 3), rel=1e-4)
    with pytest.raises(ParameterError):
        SparseVector(epsilon=1, sensitivity=1, monotone=True, relation="replace")
    with pytest.raises(ParameterError, match="coarser"):
        SparseVector(epsilon=1, sensitivity=1, grid=2)


def test_a_session_stops_after_its_positives():
    session = SparseVector(epsilon=1, sensitivity=1, positives=3).session(threshold=0)
    assert [session.ask(10**6).value for _ in range(3)] == [True] * 3
    assert session.left == 0
    assert session.guarantee == session.mechanism.guarantee
    for _ in range(2):
        with pytest.raises(BudgetExceeded):
            session.ask(10**6)
    endless = SparseVector(epsilon=1, sensitivity=1).session(threshold=0)
    assert not any(endless.ask(-(10**6)).value for _ in range(500))
    assert endless.left == 1


def test_a_session_cannot_be_copied_or_stored():
    mechanism = SparseVector(epsilon=1, sensitivity=1)
    session = mechanism.session(threshold=10)
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            way(session)
    assert repr(session) == f"Session({mechanism!r}, left=1)", "the noisy threshold is not shown"


def test_threads_together_get_no_more_positives_than_one():
    session = SparseVector(epsilon=1, sensitivity=1, positives=5).session(threshold=0)
    found = []

    def ask():
        for _ in range(20):
            try:
                found.append(session.ask(10**6).value)
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 5


def test_numbers_have_fresh_noise():
    mechanism = SparseVector(epsilon=1, sensitivity=1, answer_epsilon=1, positives=1)
    noises = [mechanism.session(0).ask(10**6).value - 10**6 for _ in range(4000)]
    assert any(noise < 0 for noise in noises), "the noise that passed the test would be mostly positive"
    # 1/(1 + e) = 0.269 of them, with a standard deviation of 0.007.
    assert 0.2 < sum(noise < 0 for noise in noises) / 4000 < 0.34
    low = mechanism.session(0)
    assert low.ask(-(10**6)).value is False


def test_values_are_exact_single_and_on_the_grid():
    session = SparseVector(epsilon=1, sensitivity="0.5", grid="0.5").session(threshold="1.5")
    assert session.ask(seal(-(10**6))).value is False
    assert session.ask(Fraction(-(10**6), 2)).value is False
    for bad in (1.5, [1, 2], np.array([1]), None, True, "1", Fraction(98765, 4), seal([1, 2])):
        with pytest.raises(ParameterError) as caught:
            session.ask(bad)
        assert "98765" not in str(caught.value)
    with pytest.raises(ParameterError):
        SparseVector(epsilon=1, sensitivity=1).session(threshold="0.5")


def test_released_answers_follow_the_enumerated_law():
    mechanism = SparseVector(epsilon=2, sensitivity=1, positives=2)
    values = (0, 1, -1)
    law = transcripts(values, *form_of(mechanism))
    assert sum(law.values()) == pytest.approx(1)
    seen = dict.fromkeys(law, 0)
    for _ in range(3000):
        session, got = mechanism.session(0), []
        while session.left and len(got) < len(values):
            got.append(session.ask(values[len(got)]).value)
        seen[tuple(got)] += 1
    statistic = sum((seen[key] - 3000 * law[key]) ** 2 / (3000 * law[key]) for key in law)
    assert statistic < 80, "below 1e-12 for 7 degrees of freedom"
    other = transcripts(values, *form_of(SparseVector(epsilon=4, sensitivity=1, positives=2)))
    assert sum((seen[key] - 3000 * other[key]) ** 2 / (3000 * other[key]) for key in law) > 80
