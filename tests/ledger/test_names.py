from __future__ import annotations

import pytest

from dither.errors import PolicyError
from dither.ledger.names import canonical_name


@pytest.mark.parametrize("name", ["alice", "Alice", "ALICE", "Ａｌｉｃｅ", "ａlice"])
def test_spellings_of_one_principal(name: str) -> None:
    assert canonical_name(name, "analyst") == "alice"


def test_the_kelvin_sign_is_a_k() -> None:
    assert canonical_name("\u212aim", "analyst") == "kim"


@pytest.mark.parametrize(
    "name",
    [
        "",
        " alice",
        "alice ",
        "al\u200bice",
        "alice\u200d",
        "\u0430lice",
        "αlice",
        "al ice",
        "alice\n",
        "-alice",
        ".",
        "ali\u0307ce",
        "a" * 129,
        "\ufdfa" * 20,
        "alice\u202e",
        "al/ice",
        "al'ice",
        "al\x00ice",
        "İlice",
        "\ud800",
    ],
)
def test_anything_that_could_look_like_another_is_refused(name: str) -> None:
    """Threat 48."""
    with pytest.raises(PolicyError, match="cannot name the analyst"):
        canonical_name(name, "analyst")


@pytest.mark.parametrize("name", ["a", "a@b.org", "team-1_x", "0", "a" * 128])
def test_ordinary_names(name: str) -> None:
    assert canonical_name(name, "people") == name


def test_only_text() -> None:
    with pytest.raises(PolicyError, match="must be text; got int"):
        canonical_name(7, "people")  # type: ignore[arg-type]
