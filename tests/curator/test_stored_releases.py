"""What the ledger stores for a question reads back exactly, or is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.curator.answer_columns import Columns
from dither.errors import LedgerError

SMALL = NoisyMeasure('["CountRows", null]', np.array([3, -4, 2**63 - 1, -(2**63)]), {"mechanism": "Laplace"})
LARGE = NoisyMeasure("sum", np.array([2**70, -(2**90), 0], dtype=object), {"mechanism": "Gaussian", "rho": "1/3"})
RELEASED = Released({"epsilon": "0.5"}, (SMALL, LARGE))


def test_it_reads_back_exactly() -> None:
    again = Released.from_bytes(RELEASED.to_bytes())
    assert again.price == RELEASED.price
    for measure, expected in zip(again.measures, RELEASED.measures, strict=True):
        assert (measure.measure, measure.mechanism) == (expected.measure, expected.mechanism)
        assert measure.values.tolist() == expected.values.tolist()
        assert measure.values.dtype == expected.values.dtype
    assert again.to_bytes() == RELEASED.to_bytes()


def test_what_was_left_out_is_kept_and_not_known_of_earlier_releases() -> None:
    assert Released.from_bytes(RELEASED.to_bytes()).left_out is None
    for document in ({}, {"measures": {"n": [{}, {"unknown": True}]}, "histograms": {}}):
        stored = replace(RELEASED, left_out=document).to_bytes()
        assert Released.from_bytes(stored).left_out == document
    newer = Columns(replace(RELEASED, left_out={"version": 2}))
    with pytest.raises(LedgerError, match="version 2"):
        _ = newer.left_out


def test_labels_are_kept_and_not_known_of_earlier_releases() -> None:
    assert b'"format":1' in RELEASED.to_bytes()
    assert Released.from_bytes(RELEASED.to_bytes()).labels is None
    stored = replace(RELEASED, labels="digest").to_bytes()
    assert b'"format":2' in stored
    assert Released.from_bytes(stored).labels == "digest"


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (b"", "not in a format"),
        (b"something else", "not in a format"),
        (RELEASED.to_bytes().replace(b'"format":1', b'"format":3'), "format 3; this dither reads 1 to 2"),
        (RELEASED.to_bytes().replace(b'"int64"', b'"int32"'), "encoding 'int32'"),
    ],
)
def test_anything_else_is_refused(stored: bytes, words: str) -> None:
    with pytest.raises(LedgerError, match=words):
        Released.from_bytes(stored)


def selected(groups: int) -> Released:
    keys = ([f"key \U0001f600 {place}" for place in range(groups)],)
    return Released({"epsilon": "1"}, (NoisyMeasure("count", np.arange(groups), {}),), keys, ("Said.",))


def test_selected_keys_that_do_not_fit_are_left_out() -> None:
    whole = selected(1000)
    size = len(whole.to_bytes())
    assert whole.within(size) is whole
    cut = whole.within(size // 2)
    assert len(cut.to_bytes()) <= size // 2
    shown = len(cut.keys[0])
    assert 400 < shown < 500
    assert cut.keys[0] == whole.keys[0][:shown]
    assert cut.measures[0].values.tolist() == list(range(shown))
    said = f"Only the first {shown} groups are shown: an answer with more would be too large."
    assert cut.limits == ("Said.", said)
    assert len(Released.from_bytes(cut.to_bytes()).keys[0]) == shown


def test_public_keys_are_all_shown() -> None:
    assert RELEASED.within(1) is RELEASED
