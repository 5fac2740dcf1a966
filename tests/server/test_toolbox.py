"""Mechanisms and the price of a plan, for everybody who has a token."""

from __future__ import annotations

from typing import Any

import pytest

import dither as dt
from dither.accounting.currency.price_list import prices
from dither.accounting.currency.price_plan import read_plan

PLAN = "100 counts at 0.1, 1 median at 0.5"


def test_every_mechanism_is_described(served: Any) -> None:
    found = {one["name"]: one for one in served.call("alice", "GET", "/v1/mechanisms").json}
    assert set(found) == {name for name, home in dt.HOMES.items() if home == "dither.mechanisms"} - {"REFUSED"}
    assert found["Laplace"]["guarantee"].startswith("epsilon-DP")
    assert {"name": "sensitivity", "required": True} in found["Laplace"]["parameters"]
    assert {"name": "grid", "required": False} in found["Laplace"]["parameters"]
    assert all("DP" in one["guarantee"] for one in found.values())


def test_a_plan_is_priced_as_at_home(served: Any) -> None:
    found = served.call("alice", "POST", "/v1/price", {"plan": PLAN, "delta": 1e-6}).json
    assert found["theorems"] == [row.document() for row in prices(read_plan(PLAN).parts, "1e-6")]
    assert found == served.call("auditor", "POST", "/v1/price", {"plan": f"{PLAN}, delta 1e-06"}).json


def test_a_pure_plan_needs_no_delta(served: Any) -> None:
    found = served.call("alice", "POST", "/v1/price", {"plan": "4 counts at 0.25"}).json
    assert (found["delta"], found["theorems"][0]["epsilon"]) == (None, 1.0)


@pytest.mark.parametrize(
    "body",
    [
        {"plan": "100 pigeons at 0.1"},
        {"plan": ""},
        {"plan": PLAN, "delta": 0},
        {"plan": PLAN, "delta": "nan"},
        {"plan": f"{PLAN}, delta 1e-6", "delta": "1e-7"},
        {"plan": "2 gaussians at rho 0.1"},
        {"plan": "1 count at 0.1 " * 100_000},
        {"delta": "1e-6"},
    ],
)
def test_what_is_no_plan_is_refused(served: Any, body: dict[str, Any]) -> None:
    assert served.call("alice", "POST", "/v1/price", body).status in (400, 413)
