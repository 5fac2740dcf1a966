"""A folder that an older dither wrote opens; its answers are found, and what was left reserved is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dither as dt


def shown(answer: Any) -> list[dict[str, Any]]:
    """The numbers and keys, without their intervals."""
    rows = json.loads(answer.to_json())["rows"]
    return [{name: value for name, value in row.items() if not name.endswith(("_lower", "_upper"))} for row in rows]


def test_repeats_are_free(old: Path, written: dict[str, Any]) -> None:
    with dt.Curator.open(old) as clinic:
        spent = clinic.budget("patients").spent, clinic.budget("staff").spent
        for asked in written["answers"]:
            if "adjust" in asked["stated"]:  # no answer is multiplied by a factor any more, so none is asked without
                continue
            answer = clinic.sql(asked["text"], request=asked["request"], **asked["stated"])
            assert not answer.charged
            assert shown(answer) == asked["rows"]
        assert (clinic.budget("patients").spent, clinic.budget("staff").spent) == spent
        assert clinic.profiled("visits").rows is not None


def test_what_was_left_reserved_is_answered(old: Path, written: dict[str, Any]) -> None:
    """Two of them were planned before the profile that is there now; one that was planned with a factor has failed."""
    with dt.Curator.open(old) as clinic:
        assert len(clinic._ledger.pending()) == 3
        spent = clinic.budget("patients").spent, clinic.budget("staff").spent
        for asked in written["pending"]:
            recorded = clinic._ledger.requested("patients", None, asked["request"])
            if recorded is not None and '"factor"' in recorded.plan:
                with pytest.raises(dt.QueryFailed):
                    clinic.sql(asked["text"], request=asked["request"], **asked["stated"])
            else:
                assert clinic.sql(asked["text"], request=asked["request"], **asked["stated"]).charged
        assert (clinic.budget("patients").spent, clinic.budget("staff").spent) == spent
        assert clinic._ledger.pending() == []
        clinic.verify()
