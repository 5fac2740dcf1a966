"""What intervals hold is said in the same words wherever an answer goes, and the noise beside what was left out."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.answer import Answer, Value
from dither.escape import markup

LEFT_OUT = "up to 4,500 rows left out"


def limited_answer(rows: int = 1, **options: Any) -> Answer:
    """Counts of which rows may have been left out: longer above than below."""
    values = np.full(rows, 54_612)
    noise = Value("n", values, half_width=Fraction(9_540))
    upper = options.pop("upper", values + 14_020)
    column = replace(noise, half_width=None, lower=values - 9_540, upper=upper, left_out=LEFT_OUT, noise=noise)
    return Answer((column,), {"epsilon": "0.5"}, "owners", Fraction(19, 20), **options)


def test_what_was_left_out_is_shown_beside_the_noise() -> None:
    shown = "54,600 −9,600 +14,100 (noise ± 9,600; up to 4,500 rows left out)"
    one = limited_answer()
    assert str(one).splitlines()[2] == shown
    assert markup(shown[7:]) in one._repr_html_()
    assert [end.tolist() for end in one.interval("n")] == [[45_072], [68_632]]
    assert [end.tolist() for end in one.noise("n")] == [[45_072], [64_152]]
    several = str(limited_answer(2)).splitlines()
    assert several[2] == several[3] == "54,600 −9,600 +14,100 (noise ± 9,600)"
    assert f"n: {LEFT_OUT}" in several
    told = json.loads(one.to_json())
    assert told["columns"][0]["left_out"] == LEFT_OUT
    assert told["columns"][0]["noise_half_width"] == 9540
    assert told["notes"] == [f"n: {LEFT_OUT}"] == one.to_pandas().attrs["dither"]["notes"]
    assert told["intervals"] == one.claim == one.to_pandas().attrs["dither"]["intervals"]


def test_an_open_end_is_at_least() -> None:
    opened = limited_answer(upper=np.array([math.inf]))
    assert str(opened).splitlines()[2] == f"54,600 at least 45,000 (noise ± 9,600; {LEFT_OUT})"
    assert "± ?" not in str(opened)
    assert opened.to_dicts(intervals=True)[0]["n_upper"] == math.inf


def test_a_limited_count_stands_under_its_own_name() -> None:
    limited = limited_answer(limited=8)
    assert str(limited).splitlines()[2] == f"54,600 ± 9,600 (all rows: 45,000 to 69,000; {LEFT_OUT})"
    assert "counting at most 8 rows of each owner" in str(limited)
    assert "counting at most 8 rows of each owner" in limited.claim


@pytest.mark.parametrize(
    ("covers", "words"),
    [
        ("each", "the exact number with probability 95%, each by itself"),
        ("shown", "in at least 95% of the rows shown, on average"),
        ("groups", "in at least 95% of the groups, on average"),
        ("noise", "the noise alone with probability 95%"),
    ],
)
def test_the_same_words_everywhere(covers: Any, words: str, tmp_path: Path) -> None:
    found = limited_answer(2, covers=covers)
    found.to_csv(tmp_path / "a.csv")
    forms = [str(found), found._repr_html_(), found.to_json(), found.claim, (tmp_path / "a.csv").read_text()]
    forms += [found.plot().to_json(), found.to_pandas().attrs["dither"]["intervals"]]
    assert [words in form for form in forms] == [True] * len(forms)
    assert all(LEFT_OUT in form for form in (*forms[:3], *forms[4:6]))
