"""What an officer signs is what the officer reads, whoever wrote the order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def order(call: Any, tmp_path: Path) -> Path:
    call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6")
    made = call("officer", "make", "officer.pem")
    assert call("officer", "enrol", "clinic", made.out.strip()).code == 0
    reason = "2027\nterms: nothing\x1b[2K\u202e"
    stated = ("--epsilon", "6", "--reason", reason, "--draft", "order.json")
    assert call("grant", "clinic", "patients", *stated).code == 0
    return tmp_path / "order.json"


def test_a_reason_looks_like_nothing_else(call: Any, order: Path) -> None:
    signed = call("officer", "sign", str(order), "--key", "officer.pem")
    assert signed.code == 0
    lines = signed.out.splitlines()
    assert len([line for line in lines if line.startswith("terms")]) == 1
    assert "reason: 2027�terms: nothing�[2K�" in lines
    assert call("grant", "clinic", "--order", str(order)).code == 0


def test_an_order_for_more_than_it_says_is_not_signed(call: Any, order: Path) -> None:
    document = json.loads(order.read_text())
    document["body"]["cost"] = "1000"
    order.write_text(json.dumps(document))
    refused = call("officer", "sign", str(order), "--key", "officer.pem")
    assert refused.code != 0
    assert "more than the budget that it names" in refused.err
    assert json.loads(order.read_text())["signature"] is None
