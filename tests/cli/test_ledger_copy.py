"""`dither init --ledger`, `dither ledger copy`, and tokens that go along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PEOPLE = ("--people", "patients", "--epsilon", "4", "--delta", "1e-6")


def test_a_ledger_goes_to_postgresql_and_back(call: Any, database: str, tmp_path: Path) -> None:
    assert call("init", "clinic", *PEOPLE).code == 0
    assert call("token", "make", "clinic", "--role", "auditor").code == 0
    listed = call("token", "list", "clinic").out
    copied = call("ledger", "copy", "clinic", "--to", database)
    assert (copied.code, copied.out.split()[0]) == (0, "4")
    assert call("ledger", "verify", "clinic").out.endswith("intact: 4 entries.\n")
    assert call("token", "list", "clinic").out == listed
    shown = call("ledger", "show", "clinic", "--entries").out
    assert "moved" in shown
    assert "arrived" in shown
    assert call("ledger", "copy", "clinic", "--to", database).code != 0
    for name in ("ledger.sqlite.moved", "server.sqlite"):
        (tmp_path / "clinic" / name).unlink()
    assert call("ledger", "copy", "clinic", "--to", "folder", "--json").out == '{\n  "entries": 6\n}\n'
    assert call("token", "list", "clinic").out == listed
    assert call("ledger", "verify", "clinic").code == 0


def test_a_folder_begins_in_postgresql(call: Any, database: str, clusters: Any) -> None:
    near = clusters("first").empty("near")
    refused = call("init", "clinic", *PEOPLE, "--ledger", database, "--anchor", near)
    assert refused.code != 0
    assert "--weak-anchor" in refused.err
    anchored = ("--anchor", near, "--weak-anchor")
    assert call("init", "clinic", *PEOPLE, "--ledger", database, *anchored).code == 0
    assert call("ledger", "verify", "clinic", *anchored).code == 0
    assert call("ledger", "verify", "clinic").code != 0
