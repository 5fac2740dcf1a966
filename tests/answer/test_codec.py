"""Stored answers: deterministic bytes, exact numbers at every size, unknown versions refused."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.answer import Answer, Key, NoiseScale, Value, dense_keys
from dither.answer.codec import UnreadableAnswer
from dither.columns import Category
from dither.errors import ParameterError


def answer(*columns: Key | Value) -> Answer:
    return Answer(
        columns,
        price={"epsilon": "0.5"},
        guarantee="PureDP(epsilon=1/2)",
        confidence=Fraction(19, 20),
        notes=("At most 3 rows of each owner are counted.",),
    )


def objects(numbers: list[int]) -> np.ndarray:
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


MAGNITUDES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(10**38) + 1, 10**38 - 1),
    st.integers(-(10**60), 10**60),
    st.sampled_from([2**63, -(2**63) - 1, 10**38, -(10**38), 10**38 - 1, 1 - 10**38, 0, -1]),
)


@settings(deadline=None)
@given(numbers=st.lists(MAGNITUDES, min_size=1, max_size=5), decimals=st.integers(0, 45))
def test_whole_numbers_of_any_size_come_back_exactly(numbers: list[int], decimals: int) -> None:
    before = answer(Value("n", objects(numbers), decimals=decimals, half_width=Fraction(7, 3)))
    stored = before.to_bytes()
    after = Answer.from_bytes(stored)
    column = after.columns[0]
    assert isinstance(column, Value)
    assert column.values.tolist() == numbers
    assert (column.decimals, column.half_width) == (decimals, Fraction(7, 3))
    assert after.to_bytes() == stored


@settings(deadline=None)
@given(numbers=st.lists(st.floats(), min_size=1, max_size=5))
def test_floats_come_back_bit_for_bit(numbers: list[float]) -> None:
    values = np.array(numbers)
    column = Answer.from_bytes(answer(Value("mean", values, lower=values - 1, upper=values + 1)).to_bytes()).columns[0]
    assert isinstance(column, Value)
    assert column.lower is not None
    assert column.values.tobytes() == values.tobytes()
    assert column.lower.tobytes() == (values - 1).tobytes()


def test_everything_beside_the_numbers_is_kept_in_select_order() -> None:
    keys = dense_keys([("region", Category(["north", "south"]))])
    count = Value(
        "n", np.array([5, -1, 0]), half_width=Fraction(3), mechanism="Laplace", scale=(NoiseScale("sum", 2.5),)
    )
    before = answer(count, *keys)
    after = Answer.from_bytes(before.to_bytes())
    assert after.names == ("n", "region")
    assert after.to_dicts() == [
        {"n": 5, "region": "north"},
        {"n": -1, "region": "south"},
        {"n": 0, "region": None},
    ]
    assert (after.price, after.guarantee, after.confidence) == (before.price, before.guarantee, before.confidence)
    assert after.notes == before.notes
    column = after.column("n")
    assert isinstance(column, Value)
    assert (column.mechanism, column.scale) == ("Laplace", (NoiseScale("sum", 2.5),))
    assert str(after) == str(before)


def test_whether_this_showing_was_charged_is_no_part_of_the_answer() -> None:
    bought = answer(Value("n", np.array([5])))
    again = replace(bought, charged=False)
    assert again.to_bytes() == bought.to_bytes()
    assert Answer.from_bytes(again.to_bytes()).charged


def test_columns_take_new_names() -> None:
    stored = answer(Value("n", np.array([5])), Value("m", np.array([6]))).to_bytes()
    assert Answer.from_bytes(stored, ["total", "other"]).to_dicts() == [{"total": 5, "other": 6}]
    with pytest.raises(ParameterError, match="got 1 name for 2 columns"):
        Answer.from_bytes(stored, ["total"])


def test_the_same_answer_gives_the_same_bytes_however_its_arrays_lie_in_memory() -> None:
    whole = np.arange(20)
    made = [answer(*dense_keys([("k", Category(list("abc")))]), Value("n", v)) for v in (whole[::5], whole[::5].copy())]
    assert made[0].to_bytes() == made[1].to_bytes()


def stored_as(version: int, **changed: object) -> bytes:
    """An answer of one column whose metadata say another version, and whose column says something else."""
    stored = answer(Value("n", np.array([5]))).to_bytes()
    with pa.ipc.open_stream(stored) as stream:
        batch = stream.read_next_batch()
    metadata = json.loads(batch.schema.metadata[b"dither.answer"])
    metadata["version"] = version
    metadata["columns"][0] |= changed
    schema = batch.schema.with_metadata({b"dither.answer": json.dumps(metadata)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as out:
        out.write_batch(batch.replace_schema_metadata(schema.metadata))
    return sink.getvalue().to_pybytes()


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(UnreadableAnswer, match="stored in format 3"):
        Answer.from_bytes(stored_as(3))


def test_the_first_version_is_read_without_its_scales() -> None:
    column = Answer.from_bytes(stored_as(1, scale="1.6e+06 and 166.9")).column("n")
    assert isinstance(column, Value)
    assert (column.values.tolist(), column.scale) == ([5], ())


def test_bytes_that_are_no_answer_are_refused() -> None:
    stored = answer(Value("n", np.array([5]))).to_bytes()
    plain = pa.BufferOutputStream()
    table = pa.table({"n": [1]})
    with pa.ipc.new_stream(plain, table.schema) as out:
        out.write_table(table)
    for wrong in (b"", b"junk", stored[: len(stored) // 2], pickle.dumps({"a": 1}), plain.getvalue().to_pybytes()):
        with pytest.raises(UnreadableAnswer, match="not a stored answer"):
            Answer.from_bytes(wrong)
