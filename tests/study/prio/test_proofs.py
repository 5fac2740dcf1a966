"""Proofs: valid reports pass and sum exactly, everything else is refused, and shares alone say nothing."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import ParameterError
from dither.study.errors import InvalidReport
from dither.study.prio import Circuit, Count, Histogram, MultihotCountVec, Prio3, Sum, SumVec
from dither.study.prio.fields import FIELD64, FIELD128, Points, Vector
from dither.study.prio.proofs import Proofs

KEY = bytes(range(32))
KINDS: dict[str, tuple[Circuit, Any]] = {
    "count": (Count(), st.integers(0, 1)),
    "sum": (Sum(100), st.integers(0, 100)),
    "sums": (SumVec(3, 9, 4), st.lists(st.integers(0, 9), min_size=3, max_size=3)),
    "histogram": (Histogram(11, 3), st.integers(0, 10)),
    "multihot": (MultihotCountVec(7, 3, 3), st.permutations([True] * 3 + [False] * 4)),
}


def shared(function: Prio3, measurement: Any) -> tuple[bytes, bytes, list[bytes]]:
    nonce = secrets.token_bytes(16)
    return nonce, *function.shard(measurement, nonce, secrets.token_bytes(function.randomness))


def verified(function: Prio3, nonce: bytes, public: bytes, shares: list[bytes]) -> list[Vector]:
    begun = [function.verify_init(KEY, number, nonce, public, share) for number, share in enumerate(shares)]
    message = function.verifier_shares_to_message([told for _, told in begun])
    return [function.verify_next(state, message) for state, _ in begun]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("aggregators", [2, 3])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_sums_are_exact(kind: str, aggregators: int, data: st.DataObject) -> None:
    circuit, strategy = KINDS[kind]
    function = Prio3(circuit, b"test", aggregators)
    measurements = data.draw(st.lists(strategy, min_size=1, max_size=3))
    outputs = [verified(function, *shared(function, measurement)) for measurement in measurements]
    totals = function.unshard(
        [function.field.encode(function.aggregate([out[number] for out in outputs])) for number in range(aggregators)]
    )
    exact = [circuit.truncate(circuit.encode(measurement)) for measurement in measurements]
    assert totals == [sum(column) for column in zip(*exact, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_flipped_bit_is_refused(kind: str, data: st.DataObject) -> None:
    """The leader's share, the blind or seed of the helper, and the public share: nothing may be changed."""
    circuit, strategy = KINDS[kind]
    function = Prio3(circuit, b"test")
    nonce, public, shares = shared(function, data.draw(strategy))
    parts = [public, *shares]
    place = data.draw(st.sampled_from([number for number, part in enumerate(parts) if part]))
    bit = data.draw(st.integers(0, 8 * len(parts[place]) - 1))
    changed = bytearray(parts[place])
    changed[bit // 8] ^= 1 << bit % 8
    parts[place] = bytes(changed)
    with pytest.raises(InvalidReport):
        verified(function, nonce, parts[0], parts[1:])


def test_another_nonce_context_or_key_is_refused() -> None:
    function = Prio3(Histogram(4, 2), b"test")
    nonce, public, shares = shared(function, 1)
    with pytest.raises(InvalidReport):
        verified(function, bytes(16), public, shares)
    with pytest.raises(InvalidReport):
        verified(Prio3(Histogram(4, 2), b"other"), nonce, public, shares)
    with pytest.raises(InvalidReport):
        verified(function, nonce, public, shares[::-1])


def out_of_range(circuit: Circuit, wrong: Vector) -> Prio3:
    """A client that proves what is not so, as well as it can."""

    class Cheating(type(circuit)):  # type: ignore[misc]
        def encode(self, measurement: Any) -> Vector:
            return wrong

    values = {name: getattr(circuit, name) for name in circuit.__dataclass_fields__}  # type: ignore[attr-defined]
    return Prio3(Cheating(**values), b"test")


WRONG: dict[str, tuple[Circuit, Vector]] = {
    "two": (Count(), [2]),
    "minus one": (Count(), [FIELD64.modulus - 1]),
    "a bit of two": (Sum(100), [2, 0, 0, 0, 0, 0, 0]),
    "two buckets": (Histogram(4, 2), [1, 1, 0, 0]),
    "no bucket": (Histogram(4, 2), [0, 0, 0, 0]),
    "minus one and two": (Histogram(4, 2), [FIELD128.modulus - 1, 2, 0, 0]),
    "too many": (MultihotCountVec(4, 2, 2), [1, 1, 1, 0, 1, 1]),
    "a wrong weight": (MultihotCountVec(4, 2, 2), [1, 0, 0, 0, 1, 1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_range_is_refused_whatever_its_proof(name: str) -> None:
    circuit, wrong = WRONG[name]
    cheater = out_of_range(circuit, wrong)
    with pytest.raises(InvalidReport, match="does not hold"):
        verified(Prio3(circuit, b"test"), *shared(cheater, None))


@pytest.mark.parametrize("name", WRONG)
def test_planted_proofs_that_nobody_checks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Proofs, "decide", lambda *_: True)
    with pytest.raises(pytest.fail.Exception):
        test_a_wrong_range_is_refused_whatever_its_proof(name)


def test_measurements_outside_their_range_are_refused_at_once() -> None:
    wrong: list[tuple[Circuit, Any]] = [
        (Count(), 2),
        (Sum(100), 101),
        (Sum(100), -1),
        (SumVec(2, 9, 2), [1]),
        (Histogram(4, 2), 4),
        (Histogram(4, 2), -1),
        (MultihotCountVec(4, 2, 2), [1, 1, 1, 0]),
    ]
    for circuit, measurement in wrong:
        with pytest.raises(ParameterError):
            circuit.encode(measurement)


@pytest.mark.parametrize("measurement", [0, 1])
def test_a_share_alone_is_uniform(measurement: int) -> None:
    """The leader's share of a count in 64 cells: chi-square far below its 1e-9 point, for either measurement."""
    function, cells = Prio3(Count(), b"test"), [0] * 64
    for _ in range(6400):
        share = shared(function, measurement)[2][0]
        cells[int.from_bytes(share[:8], "little") * 64 // FIELD64.modulus] += 1
    assert sum((cell - 100) ** 2 / 100 for cell in cells) < 149  # 63 degrees of freedom


def check_uniform(measurement: int, left_out: int) -> None:
    """What two of three aggregators hold of a report, in 8 x 8 cells: chi-square far below its 1e-9 point."""
    function, cells = Prio3(Sum(1), b"test", 3), [0] * 64
    held = [number for number in range(3) if number != left_out]
    for _ in range(3200):
        shares = shared(function, measurement)[2]
        first = [
            function._measurement(number, shares[number])[0] if number else int.from_bytes(shares[0][:8], "little")
            for number in held
        ]
        eighths = [value * 8 // FIELD64.modulus for value in first]
        cells[8 * eighths[0] + eighths[1]] += 1
    assert sum((cell - 50) ** 2 / 50 for cell in cells) < 149  # 63 degrees of freedom


@pytest.mark.parametrize("left_out", range(3))
@pytest.mark.parametrize("measurement", [0, 1])
def test_shares_of_all_but_one_are_uniform(measurement: int, left_out: int) -> None:
    check_uniform(measurement, left_out)


def test_planted_shares_from_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The aggregators' numbers are forgotten where shares are expanded, and a helper's seed is used twice."""
    real = Prio3._measurement
    monkeypatch.setattr(Prio3, "_measurement", lambda self, number, key: real(self, 1, bytes(32)))
    with pytest.raises(AssertionError):
        check_uniform(1, 0)


@pytest.mark.parametrize(("group", "length"), [(8, 8), (8, 7), (16, 10), (2, 1)])
def test_polynomials_have_their_values(group: int, length: int) -> None:
    """By the definition: coefficients, and Horner's rule at each point."""
    points, modulus = Points(FIELD128, group, length), FIELD128.modulus
    coefficients = [pow(3, power, modulus) for power in range(length)]

    def value(at: int) -> int:
        total = 0
        for coefficient in reversed(coefficients):
            total = (total * at + coefficient) % modulus
        return total

    values = [value(node) for node in points.nodes]
    for at in (5, points.nodes[0], FIELD128.root(group), modulus - 2):
        assert FIELD128.dot(points.at(at), values) == value(at)


def test_a_vector_that_nobody_writes_is_refused() -> None:
    readers: list[Callable[[], Any]] = [
        lambda: FIELD64.decode(FIELD64.modulus.to_bytes(8, "little"), 1),
        lambda: FIELD64.decode(bytes(7), 1),
        lambda: FIELD128.decode(bytes(32), 1),
    ]
    for read in readers:
        with pytest.raises(InvalidReport):
            read()
