"""The auditor attacks the noisy sums as each party sees them; `make audit` takes a million samples a side."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dither.accounting import PureDP, shuffle
from dither.lab.audit.checking import check
from dither.lab.audit.verdict import Verdict
from dither.mechanisms import LocalHashing, RandomizedResponse
from dither.study import epsilon_with
from dither.study.aggregator import noisy_share
from dither.study.noise_shares import NoiseShare
from dither.study.reports import make_report
from dither.study.study import Study

SAMPLES = int(os.environ.get("DITHER_AUDIT_SAMPLES", "10000"))
QUESTIONS = [{"name": "yes", "kind": "yes/no"}, {"name": "stage", "kind": "number", "least": 0, "most": 3}]
LOW, HIGH = {"yes": "no", "stage": 0}, {"yes": "yes", "stage": 3}
Made = Callable[..., Any]
Sampler = Callable[[str, int], npt.NDArray[np.int64]]
BLOCK = 20_000
ALARM = 1 - Fraction(1, 10**9)


def seen(made: Made, corrupt: int, **stated: Any) -> tuple[Study, Sampler]:
    """What the collector knows who has the last `corrupt` aggregators' exact sums, and one participant made up."""
    parties = made(epsilon=1, questions=QUESTIONS, **stated)
    one, two, madeup = (make_report(parties.study, parties.invitations.pop(), given) for given in (LOW, HIGH, HIGH))
    assert parties.check([one, two, madeup]) == [True] * 3
    sums = {
        name: [aggregator.sums([report.nonce, madeup.nonce]) for aggregator in parties.aggregators]
        for name, report in (("low", one), ("high", two))
    }
    study, honest = parties.study, len(parties.aggregators) - corrupt

    def release(data: str, size: int) -> npt.NDArray[np.int64]:
        """As many studies at once: every sum as often, and each with noise of its own."""
        many = [[vector * size for vector in one] for one in sums[data]]
        shares = [noisy_share(study, one) for one in many[:honest]]
        shares += [
            b"".join(f.field.encode(vector) for f, vector in zip(study.functions, one, strict=True))
            for one in many[honest:]
        ]
        found, start = [], 0
        for function in study.functions:
            end = start + size * function.field.size
            pieces = [function.field.decode(share[start:end], size) for share in shares]
            modulus, start = function.field.modulus, end
            found.append([total - modulus * (2 * total > modulus) for total in function.aggregate(pieces)])
        return np.array(found).T

    def sampler(data: str, size: int) -> npt.NDArray[np.int64]:
        blocks = [min(BLOCK, size - start) for start in range(0, size, BLOCK)]
        return np.concatenate([release(data, block) for block in blocks])

    return study, sampler


def attacked(sampler: Any, claimed: Any, samples: int = SAMPLES) -> Verdict:
    """Whether a claim stands: a false alarm in 10^9."""
    return check(sampler, neighbours=[("low", "high")], claimed=claimed, samples=samples, confidence=ALARM, calls=0)


MODELS: dict[str, tuple[int, dict[str, Any]]] = {
    "the collector": (0, {}),
    "one of two aggregators": (1, {}),
    "two of three aggregators": (2, {"aggregators": 3}),
    "one of three, noise split for two": (1, {"aggregators": 3, "noise": "split", "honest": 2}),
    "two of three, noise split for two": (2, {"aggregators": 3, "noise": "split", "honest": 2}),
}


@pytest.mark.parametrize("model", MODELS)
def test_the_promise_is_not_refuted(made: Made, model: str) -> None:
    corrupt, stated = MODELS[model]
    study, sampler = seen(made, corrupt, **stated)
    promised = epsilon_with(study, len(study.aggregators) - corrupt)
    verdict = attacked(sampler, PureDP(promised, "replace"))
    assert verdict.passed, verdict
    print(f"{model}: promised {promised:.4f}, shown {verdict.lower_bound:.4f} by {SAMPLES:,} samples a side")
    if corrupt:  # all but the needed noise is known: the promise is spent
        assert verdict.lower_bound > 0.5 * promised, verdict


def test_fewer_honest_aggregators_than_split_noise_needs_are_refuted(made: Made) -> None:
    _, sampler = seen(made, 2, aggregators=3, noise="split", honest=2)
    assert not attacked(sampler, PureDP(1, "replace")).passed


def test_planted_noise_from_one_aggregator_only(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first aggregator leaves the noise to the other, which is corrupt."""
    monkeypatch.setattr(NoiseShare, "draw", lambda self, scale, size: [0] * size)
    _, sampler = seen(made, 1)
    assert not attacked(sampler, PureDP(1, "replace"), 2000).passed


def test_planted_noise_for_one_of_the_questions(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The questions of a report do not share epsilon."""
    monkeypatch.setattr(Study, "scale", lambda self, question: question.sensitivity / self.epsilon)
    _, sampler = seen(made, 1)
    assert not attacked(sampler, PureDP(1, "replace")).passed


def test_planted_noise_split_among_too_many(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each aggregator adds a sixth of the noise that is promised, not a half."""
    real = NoiseShare.draw
    smaller = NoiseShare(9, 6, split=True)
    monkeypatch.setattr(NoiseShare, "draw", lambda self, scale, size: real(smaller, scale, size))
    _, sampler = seen(made, 1, aggregators=3, noise="split", honest=2)
    assert not attacked(sampler, PureDP(1, "replace")).passed


def shuffled(honest: int) -> Sampler:
    """How many of the shuffled reports are 1: all that shuffled bits say. The first participant answers 0 or 1."""
    response = RandomizedResponse(epsilon=2)

    def draw(data: str, size: int) -> npt.NDArray[np.int64]:
        answers = [int(data == "high")] + [place % 2 for place in range(honest - 1)]
        found: npt.NDArray[np.int64] = response.draws(answers, size).sum(axis=1)
        return found

    return draw


def local(response: RandomizedResponse | LocalHashing) -> Sampler:
    """One participant's own report."""

    def draw(data: str, size: int) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = response.draws([data], size).reshape(size, -1)
        return found

    return draw


RESPONSES: dict[str, tuple[Any, dict[str, Any]]] = {
    "bits": (RandomizedResponse, {"values": ["low", "high"]}),
    "labels": (RandomizedResponse, {"values": ["low", "high", "between", "none"]}),
    "hashes": (LocalHashing, {"values": ["low", "high", *map(str, range(30))]}),
}


@pytest.mark.parametrize("kind", RESPONSES)
def test_local_reports_keep_what_is_stated(kind: str) -> None:
    made, stated = RESPONSES[kind]
    verdict = attacked(local(made(epsilon=1, **stated)), PureDP(1, "replace"))
    assert verdict.passed, verdict
    print(f"local, {kind}: promised 1, shown {verdict.lower_bound:.4f} by {SAMPLES:,} samples a side")
    assert verdict.lower_bound > (0.5 if kind != "hashes" else 0), verdict


@pytest.mark.parametrize("kind", RESPONSES)
def test_planted_local_reports_at_twice_their_epsilon(kind: str) -> None:
    made, stated = RESPONSES[kind]
    assert not attacked(local(made(epsilon=2, **stated)), PureDP(1, "replace")).passed


def test_shuffled_reports_keep_what_is_stated() -> None:
    stated = shuffle(RandomizedResponse(epsilon=2).guarantee, 300, "1e-3")
    assert stated.epsilon < 1
    verdict = attacked(shuffled(300), stated)
    promised = f"{float(stated.epsilon):.4f} at delta {float(stated.delta)}"
    print(f"shuffled: promised {promised}, shown {verdict.lower_bound:.4f} by {SAMPLES:,} samples a side")
    assert verdict.passed, verdict


def test_planted_reports_of_made_up_participants_counted() -> None:
    """Of a thousand shuffled reports the attacker made all but three, and takes them out again."""
    stated = shuffle(RandomizedResponse(epsilon=2).guarantee, 1000, "1e-3")
    assert not attacked(shuffled(3), stated).passed
