"""Imports that do not stop to look for garbage leave the collector as they found it."""

from __future__ import annotations

import gc
import rlcompleter
import subprocess
import sys

import pyarrow as pa
import pytest

import dither as dt
from dither.lazy import importing


@pytest.fixture(params=[True, False], ids=["collecting", "not collecting"])
def collects(request: pytest.FixtureRequest):
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_the_collector_is_left_as_it_was(collects):
    with importing():
        assert not gc.isenabled()
        with importing():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is collects


def test_also_when_an_import_fails(collects):
    with pytest.raises(ModuleNotFoundError), importing():
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401
    assert gc.isenabled() is collects


def test_what_no_question_needs_is_not_loaded():
    asked = "import sys, dither; dither.Curator, dither.ApproxDP; print([m for m in sys.modules if '.pld' in m])"
    found = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True).stdout
    assert found.strip() == "[]"


ASKED = """
import sys
import dither as dt

with dt.Curator.open(sys.argv[1]) as clinic:
    for text in ("SELECT COUNT(*) FROM t", "SELECT AVG(n) FROM t"):
        answer = clinic.sql(text, epsilon=1)
        print(answer, answer.to_arrow().num_rows)
sys.exit("pandas" in sys.modules)
"""


def test_a_question_does_not_import_pandas(tmp_path):
    """Importing it takes longer than a whole question; Arrow does so for much that could do without."""
    import pandas  # noqa: F401 - it is there to be imported

    with dt.Curator.open(tmp_path / "clinic") as clinic:
        clinic.people("patients", budget=dt.PureDP(4))
        columns = {"n": dt.Int(0, 9, nullable=False, default=0)}
        rows = pa.table({"who": [1, 2, 2], "n": [3, 4, 5]})
        clinic.register("t", rows, people="patients", owner="who", max_rows_per_owner=2, columns=columns)
    done = subprocess.run([sys.executable, "-c", ASKED, tmp_path / "clinic"], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "package", [dt, dt.stats, dt.graph, dt.sensitivity, dt.accounting, dt.divergence, dt.mechanisms]
)
def test_packages_list_their_public_names_and_nothing_else(package):
    assert dir(package) == sorted(package.__all__)
    assert all(getattr(package, name) is not None for name in dir(package))


def test_completion_offers_what_there_is_to_call():
    """The completer of Python's own prompt, which asks as IPython's does: for `dir`, and for each attribute."""
    complete = rlcompleter.Completer({"dt": dt}).complete

    def offered(text):
        found = []
        while (one := complete(text, len(found))) is not None:
            found.append(one)
        return found

    assert [name.rstrip("(") for name in offered("dt.Smooth")] == [
        "dt.SmoothCauchy",
        "dt.SmoothGaussian",
        "dt.SmoothLaplace",
        "dt.SmoothLaplaceLogNormal",
        "dt.SmoothLomax",
        "dt.SmoothStudentT",
    ]
    assert [name.split("(")[0] for name in offered("dt.stats.m")] == [
        "dt.stats.mean",
        "dt.stats.median",
        "dt.stats.mode",
        "dt.stats.model_selection",
    ]
    assert not any("HOMES" in name or "annotations" in name for name in offered("dt."))
