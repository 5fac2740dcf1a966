"""How many bytes each analyst has stored: counted as questions and answers come, of that analyst alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt
from dither.ledger import Ledger, index
from dither.ledger.answers import LARGEST_INLINE_ANSWER

LARGE = bytes(LARGEST_INLINE_ANSWER + 1)
PLAN = "\U0001f600" * 10 + "'\n"
RECORDED = 10 * len("\\ud83d\\ude00") + len("'\\n")  # as JSON writes it
EACH = len('"a""1""' + '"') + RECORDED


def fill(ledger: Ledger, reserve: Callable[..., Any]) -> None:
    """Answers of 5, and of more than a million bytes, by alice; of 7 by the curator; a failure; an open reservation."""
    ledger.settle(reserve(ledger, question="a", plan=PLAN, cost="1/9").id, b"12345")
    ledger.settle(reserve(ledger, question="b", plan=PLAN, cost="1/9").id, LARGE)
    ledger.settle(reserve(ledger, None, question="c", plan=PLAN, cost="1/9").id, b"1234567")
    ledger.fail(reserve(ledger, question="d", plan=PLAN, cost="1/9").id)
    reserve(ledger, question="e", plan=PLAN, cost="1/9")


def check_counted(ledger: Ledger) -> None:
    assert ledger.stored_bytes("alice") == 5 + len(LARGE) + 4 * EACH, "plans stay, whatever becomes of them"
    assert ledger.stored_bytes(None) == 7 + EACH
    assert ledger.stored_bytes("bob") == 0


def test_each_analyst_by_themselves(ledger: Ledger, folder: Path, reserve: Callable[..., Any]) -> None:
    fill(ledger, reserve)
    check_counted(ledger)
    ledger.settle(4, b"another answer, which is discarded")
    check_counted(ledger)
    known = reserve(ledger, question="f", cost="1/9", request="r1")
    before = ledger.stored_bytes("alice")
    assert reserve(ledger, question="f", cost="1/9", request="r1") == known
    assert ledger.stored_bytes("alice") == before, "the same reservation is recorded once"
    with Ledger.open(folder) as again:
        assert again.stored_bytes("alice") == before
        again.verify()


@pytest.mark.parametrize("store", ["sqlite"])
def test_a_ledger_that_did_not_count_is_counted_once(
    ledger: Ledger, folder: Path, reserve: Callable[..., Any], first_layout: Any
) -> None:
    fill(ledger, reserve)
    ledger.close()
    first_layout(folder)
    for _ in range(2):
        with Ledger.open(folder) as again:
            check_counted(again)
            again.verify()
    with Ledger.open(folder) as again:
        with again._journal.writing() as page:
            index.count_all(page.connection, again._folder)
        check_counted(again)


@pytest.mark.parametrize("store", ["sqlite"])
def test_an_anchor_is_restored_in_an_older_layout_too(
    ledger: Ledger, folder: Path, reserve: Any, first_layout: Any
) -> None:
    fill(ledger, reserve)
    ledger.close()
    first_layout(folder)
    (folder / "ledger.anchor").unlink()
    Ledger.restore_anchor(folder)
    with Ledger.open(folder) as again:
        check_counted(again)


@pytest.mark.parametrize("store", ["sqlite"])
def test_an_older_layout_that_was_changed_is_refused(
    ledger: Ledger, folder: Path, edit: Any, first_layout: Any
) -> None:
    ledger.close()
    first_layout(folder)
    edit(folder, "DROP INDEX reservations_open")
    with pytest.raises(LedgerCorrupt, match="tables of the ledger were changed"):
        Ledger.open(folder)


def test_edited_counts_are_found(ledger: Ledger, folder: Path, reserve: Callable[..., Any], edit: Any) -> None:
    fill(ledger, reserve)
    edit(folder, "UPDATE stored SET bytes = 1 WHERE analyst = 'alice'")
    with pytest.raises(LedgerCorrupt, match="bytes that analysts have stored"):
        ledger.verify()
