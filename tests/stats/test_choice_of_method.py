"""Where "auto" takes the smooth sensitivity of a quantile, it is nearer than the exponential mechanism.

By medians, which few runs show beyond doubt; root mean squares of Student's t take many more
(docs/evidence/benchmarks.md).
"""

from __future__ import annotations

import numpy as np
import pytest

from dither import stats

RUNS = 400


def errors(q, draw, method, **options):
    rng = np.random.default_rng(8)
    found = []
    for _ in range(RUNS):
        data = draw(rng)
        right = np.sort(data)[int(np.ceil(q * data.size)) - 1]
        found.append(float(stats.quantile(data, str(q), relation="replace", method=method, **options)) - right)
    return np.abs(found)


@pytest.mark.parametrize(
    ("q", "draw", "upper"),
    [
        (0.5, lambda rng: rng.normal(48_000, 9_000, 40), 4_000_000),
        (0.9, lambda rng: rng.lognormal(3, 1, 200), 1_000),
    ],
)
def test_student_is_nearer_where_it_is_taken(q, draw, upper):
    options = {"lower": 0, "upper": upper, "epsilon": 20}
    assert stats.quantile(draw(np.random.default_rng(1)), str(q), relation="replace", **options).method == (
        "SmoothStudentT"
    )
    smooth, chosen = (errors(q, draw, method, **options) for method in ("student", "exponential"))
    assert np.median(smooth) < np.median(chosen) / 1.5
