"""Imports that do not stop to look for garbage leave the collector as they found it."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

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
