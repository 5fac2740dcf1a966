"""JSON bodies: bounded, unambiguous, and numbers as they are written."""

from __future__ import annotations

import pytest

from dither.errors import ParameterError
from dither.server.bodies import DEPTH, Field, read_fields, read_json

FIELDS = (
    Field("sql", "text", "", required=True),
    Field("epsilon", "number", ""),
    Field("rows", "integer", ""),
    Field("strict", "flag", ""),
    Field("columns", "texts", ""),
)


def test_numbers_are_exact_as_written() -> None:
    assert read_json(b'{"a": 0.1, "b": 1e-400, "c": 12345678901234567890}') == {
        "a": "0.1",
        "b": "1e-400",
        "c": 12345678901234567890,
    }


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1, "a": 2}',
        b'{"b": {"a": 1, "a": 2}}',
        b"[" * 100_000,
        b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1),
        b"9" * 10_000,
    ],
)
def test_what_is_no_plain_json_is_refused(body: bytes) -> None:
    with pytest.raises(ParameterError):
        read_json(body)


def test_brackets_in_texts_are_no_nesting() -> None:
    assert read_json(b'{"sql": "' + b"[" * 100 + b'\\"{"}') == {"sql": "[" * 100 + '"{'}
    assert read_json(b"[" * DEPTH + b"]" * DEPTH)


def test_members_are_known_and_of_their_kind() -> None:
    stated = {"sql": "x", "epsilon": "0.1", "rows": 3, "strict": True, "columns": ["a"]}
    assert read_fields(stated, FIELDS) == stated
    assert read_fields({"sql": "x", "rows": None}, FIELDS) == {"sql": "x"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "object"),
        ({}, "sql is missing"),
        ({"sql": 1}, "sql must be a text"),
        ({"sql": "x", "rows": True}, "rows must be a whole number"),
        ({"sql": "x", "epsilon": []}, "epsilon must be a number"),
        ({"sql": "x", "strict": 1}, "strict must be true or false"),
        ({"sql": "x", "columns": [1]}, "columns must be a list of texts"),
        ({"sql": "x", "nosuch": 1}, "nosuch is not known here"),
    ],
)
def test_anything_else_is_refused_by_name(body: object, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        read_fields(body, FIELDS)
