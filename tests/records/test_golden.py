"""What is stored of a question is what it was when it was first written: old answers are found by it."""

from __future__ import annotations

from typing import Any

from records_questions import asked, records


def test_keys_and_measures_are_as_first_written(golden: list[dict[str, Any]]) -> None:
    assert len(golden) == 62
    for question in golden:
        now = records(asked(question))
        for name in ("key", "by_error", "measures", "mechanisms"):
            assert now[name] == question[name], (name, question["text"])
