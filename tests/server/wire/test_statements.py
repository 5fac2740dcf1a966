"""Texts cut into statements: quotes, comments and dollars hide semicolons and parameters, and places are kept."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.server.wire.sqlstates import WireError
from dither.server.wire.statements import MOST_STATEMENTS, statements


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" ; ;; -- nothing\n /* at ; all */", []),
        ("SELECT 1; SELECT 2", ["SELECT 1", " SELECT 2"]),
        ("SELECT ';' ; x", ["SELECT ';' ", " x"]),
        ("SELECT 'it''s;'", ["SELECT 'it''s;'"]),
        (r"SELECT E'\';'; y", [r"SELECT E'\';'", " y"]),
        ('SELECT ";"";"', ['SELECT ";"";"']),
        ("SELECT $a$;$b$;$a$ ; z", ["SELECT $a$;$b$;$a$ ", " z"]),
        ("SELECT $$;$$", ["SELECT $$;$$"]),
        ("/* a /* ; */ ; */ SELECT 1", ["/* a /* ; */ ; */ SELECT 1"]),
        ("-- ;\nSELECT 1", ["-- ;\nSELECT 1"]),
    ],
)
def test_where_statements_end(text: str, parts: list[str]) -> None:
    assert [one.text for one in statements(text)] == parts


@pytest.mark.parametrize(
    ("text", "at"), [("SELECT 'a", 7), ('SELECT "a', 7), ("$x$ a", 0), ("a /* b", 2), ("'a''b", 0)]
)
def test_what_is_not_closed(text: str, at: int) -> None:
    with pytest.raises(WireError) as refused:
        statements(text)
    assert (refused.value.state, refused.value.at) == ("42601", at)


def test_so_many_are_read() -> None:
    assert len(statements("x;" * MOST_STATEMENTS)) == MOST_STATEMENTS
    with pytest.raises(WireError):
        statements("x;" * (MOST_STATEMENTS + 1))


def test_parameters_are_bound_and_places_kept() -> None:
    (one,) = statements("SELECT '$1', $2 /* $3 */ + $1::int, CAST($3 AS date), $4 AS date FROM \"$4\"")
    assert one.parameters == 4
    assert one.casts == {1: "int", 3: "date"}
    bound = one.bound({1: "1000", 2: "'a long text'", 3: "NULL", 4: "x"})
    assert bound.text == "SELECT '$1', 'a long text' /* $3 */ + 1000::int, CAST(NULL AS date), x AS date FROM \"$4\""
    for word in ("SELECT", "::int", "CAST(", "FROM"):
        assert bound.origin(bound.text.index(word)) == one.text.index(word)
    assert bound.origin(bound.text.index("long")) in range(one.text.index("$2"), one.text.index("$2") + 3)


@pytest.mark.parametrize("number", ["0", "65536", "9" * 20, "1" * 5000])
def test_parameters_beyond_bounds(number: str) -> None:
    with pytest.raises(WireError) as refused:
        statements(f"SELECT ${number}")
    assert (refused.value.state, refused.value.at) == ("42P02", 7)


@given(st.text(alphabet="';\"$-/*\n aE\\1x:"))
def test_any_text_is_cut_or_refused(text: str) -> None:
    found = []
    with suppress(WireError):
        found = statements(text)
    for one in found:
        assert text[one.start : one.start + len(one.text)] == one.text
        for token in one.tokens:
            assert one.text[token.start : token.end] == token.text
