"""`dither audit`: tables, JSON, errors and exit codes."""

from __future__ import annotations

import json
import re
import sys
import types

import pytest

from dither.cli.main import OK, REFUSED, REFUTED, main


def test_one_mechanism_is_shown_in_a_table(capsys):
    assert main(["audit", "--only", "RandomizedResponse:0", "--samples", "2e4", "--seconds", "5"]) == OK
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["mechanism", "pairs", "screened", "samples"]
    assert row.split()[0] == "RandomizedResponse:0"
    assert row.split()[3] in {"20,000", "40,000"}  # twice as many if it came out short and was looked at once more


def test_json_has_the_evidence_and_all_examples_of_a_name(capsys):
    assert main(["audit", "--only", "laplace", "--samples", "2000", "--json"]) == OK
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == ["Laplace:0", "Laplace:1", "Laplace:2"]
    assert all(row["passed"] and row["pairs"] >= 20 for row in rows)
    assert all(re.search("of [12],000 on", row["evidence"]) for row in rows)  # 2,000 at a second look


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "Laplas"], "it has: Laplace, Gaussian"),
        (["--only", "laplace:99"], "it has: Laplace:0, Laplace:1"),
        (["--peer", "nosuch"], "there are audits of: opendp"),
        (["--samples", "many"], "whole number"),
        (["--samples", "3"], "at least 1000"),
        (["--seconds", "0", "--only", "Laplace:0"], "greater than 0"),
        (["--question", "SELECT 1"], "--neighbours"),
        (["--neighbours", "nowhere"], "declares no tables"),
        (["--museum", "--peer", "opendp"], "not allowed with"),
    ],
)
def test_what_cannot_be_audited_is_refused(arguments, said, capsys):
    assert main(["audit", *arguments]) == REFUSED
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("library", ["opendp", "diffprivlib", "pydp"])
def test_a_library_that_is_not_installed_is_named(library, capsys, monkeypatch):
    for name in (library, f"{library}.prelude", f"{library}.mechanisms", f"{library}.algorithms"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["audit", "--peer", library]) == REFUSED
    assert f"{library} is not installed" in capsys.readouterr().err


def test_a_broken_library_is_refuted(capsys, monkeypatch):
    """A library in place of diffprivlib that forgets its noise."""

    class Exact:
        def __init__(self, utility=None, **_):
            self.utility = utility

        def randomise(self, value=0.0):
            return value if self.utility is None else max(range(len(self.utility)), key=self.utility.__getitem__)

    mechanisms = types.ModuleType("diffprivlib.mechanisms")
    mechanisms.Laplace = mechanisms.GaussianAnalytic = mechanisms.Exponential = Exact
    tools = types.ModuleType("diffprivlib.tools")
    tools.median = tools.mean = lambda records, **_: float(records.mean())
    package = types.ModuleType("diffprivlib")
    for name, module in (("", package), (".mechanisms", mechanisms), (".tools", tools)):
        monkeypatch.setitem(sys.modules, f"diffprivlib{name}", module)
    assert main(["audit", "--peer", "diffprivlib", "--samples", "2000"]) == REFUTED
    captured = capsys.readouterr()
    assert captured.out.count("REFUTED") == 5
    assert "5 of 5 refuted" in captured.err
