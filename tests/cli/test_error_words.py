"""What the command line says of an error: from its code and fields, in flags and commands, with nothing lost."""

from __future__ import annotations

import re

import pytest

from dither import errors as e
from dither.cli.error_words import _WORDS, words
from dither.ledger.officer.refusals import AnalystFrozen

SAID = [
    (e.ParameterError.of("max_rows_per_owner", "must be at least 1; got 0."), "--max-rows-per-owner must be at least"),
    (e.ParameterError.of("epsilon", "must be finite; got nan."), "epsilon must be finite; got nan."),
    (e.BudgetExceeded("does not fit: epsilon at most 4.", asked={"epsilon": "5"}), "the price --epsilon 5 does not"),
    (e.BudgetExceeded("the price does not fit."), "the price does not fit."),
    (e.RecordsRefused("visits", ["3 ages were clamped"]), "as --strict asks: 3 ages were clamped. Correct .* --strict"),
    (e.DeltaUnneeded(), "^--delta pays for"),
    (e.ErrorUnpriced("n", "it depends;"), "^it depends; state --epsilon, or --rho where the budget counts in it.$"),
    (e.ErrorUnpriced("n", "it depends;", by_profile=True), "; make one with `dither profile`, or state --epsilon, or"),
    (e.TableExists("visits", alike=True), "just like this, and nothing .* `dither refresh` .* `dither drop` it first"),
    (e.ProfileMissing("visits"), "'visits' has no profile .* `dither profile`"),
    (e.ColumnMissing("age", ["a;b"], delimiter=";"), "it has: a;b. Its .* by ';': state --delimiter ';'"),
    (e.ColumnMissing("aeg", ["age"], hint="Did you mean 'age'?"), "Did you mean 'age'"),
    (e.AnalystMissing("bob", ["alice"], ["patients"]), "alice. .* dither init here --people patients --analyst bob"),
    (e.AnalystMissing("bob", [], ["patients", "staff"]), "known are: none. .* --people PEOPLE"),
    (e.CapMissing("alice", "staff"), "has no cap .* dither init here --people staff --analyst alice"),
    (e.PeopleFrozen("patients"), "Nothing was charged; .* dither thaw here patients"),
    (AnalystFrozen("patients", "alice"), "Nothing was charged; .* dither thaw here patients --analyst alice"),
    (e.LedgerMissing("nosuch", exists=False), "no folder nosuch .* `dither init`, or check the path."),
    (e.LedgerMissing("empty", exists=True), "no ledger in empty; .* check the path, or restore the folder."),
]  # fmt: skip


@pytest.mark.parametrize(("error", "said"), SAID, ids=lambda one: getattr(one, "code", None))
def test_it_has_flags_and_commands_and_no_python(error: e.DitherError, said: str) -> None:
    found = words(error, "here")
    assert re.search(said, found), found
    assert not re.search(r"=|\w\(|curator\.", found)


def test_every_entry_of_the_table_is_of_an_error_and_tried_here() -> None:
    assert set(_WORDS) == {error.code for error, _ in SAID}


def test_all_other_errors_say_the_same_everywhere() -> None:
    for error in (
        e.QueryFailed(),
        e.Busy(4, 3),
        e.Stranger(),
        e.UnsupportedQuery("no.", line=1, column=2, hint="Write."),
    ):
        assert words(error) == str(error)


def test_names_cannot_act_on_a_terminal() -> None:
    assert "\x1b" not in words(e.ProfileMissing("\x1b[2J"))
    assert "\x1b" not in words(e.BudgetExceeded("does not fit.", asked={"epsilon": "\x1b[2J"}))
