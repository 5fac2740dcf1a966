"""Functions of texts equal Python's on every row: by code points, spaces only, no locale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from dither.errors import UnsupportedQuery
from dither.sql.expressions import letters, lowered, uppered
from dither.sql.lowering.duckdb_dialect import DUCKDB

LABELS = ["north", "South", "ÉTÉ", "a b "]

TEXTS: dict[str, Callable[[str], Any]] = {
    "LENGTH({})": len,
    "CHAR_LENGTH({})": len,
    "SUBSTRING({}, 2)": lambda t: t[1:],
    "SUBSTRING({}, 2, 1)": lambda t: t[1:2],
    "SUBSTRING({} FROM 1 FOR 2)": lambda t: t[:2],
    "SUBSTRING({} FROM 2)": lambda t: t[1:],
    "SUBSTR({}, 1, 0)": lambda t: "",
    "SUBSTRING({}, -1, 3)": lambda t: t[:1],
    "SUBSTRING({}, 100, 3)": lambda t: "",
    "LEFT({}, 2)": lambda t: t[:2],
    "TRIM({})": lambda t: t.strip(" "),
    "BTRIM({})": lambda t: t.strip(" "),
    "LTRIM({})": lambda t: t.lstrip(" "),
    "RTRIM({})": lambda t: t.rstrip(" "),
    "TRIM(BOTH ' ' FROM {})": lambda t: t.strip(" "),
    "TRIM(LEADING ' ' FROM {})": lambda t: t.lstrip(" "),
    "LOWER({})": lambda t: t.lower(),
    "UPPER({})": lambda t: "STRAẞE" if t == "straße" else t.upper(),
    "{} || 'é'": lambda t: t + "é",
    "'<' || {}": lambda t: "<" + t,
    "CAST({} AS TEXT)": lambda t: t,
    "{}::varchar": lambda t: t,
    "COALESCE({}, 'none')": lambda t: t,
    "NULLIF({}, 'a')": lambda t: None if t == "a" else t,
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("column", ["name", "region"])
def test_texts(bench, text, column):
    if column == "region" and text.startswith("NULLIF"):
        text, wanted_of = "NULLIF({}, 'South')", lambda t: None if t == "South" else t
    else:
        wanted_of = TEXTS[text]
    bound = bench.bind(text.format(column))
    found = bench.run(bound.node)
    if bound.category is not None:
        found = [None if code is None else bound.category.decode(code) for code in found]
    given = [
        row["name"] if column == "name" else None if row["region"] is None else LABELS[row["region"]]
        for row in bench.rows
    ]
    null = "none" if "COALESCE" in text else None
    assert found == [null if value is None else wanted_of(value) for value in given]


# Letters that Unicode has got, or given another case, since version 14.
LATER = {0x19B, 0x264, 0x1C89, 0x1C8A, *range(0xA7CB, 0xA7DE), *range(0x10D50, 0x10D86), *range(0x16EA0, 0x16EE0)}


def check_letters() -> None:
    """The engine changes every character that there is as Python does."""
    codes = [code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000 and code not in LATER]
    connection = duckdb.connect()
    for case, changed in (("lower", lowered), ("upper", uppered)):
        written = DUCKDB.letters("chr(code)", case)
        query = f"SELECT code, {written} FROM (SELECT unnest(?::INTEGER[]) AS code) WHERE {written} <> chr(code)"
        found = dict(connection.execute(query, [codes]).fetchall())
        assert found == {code: changed(chr(code)) for code in codes if changed(chr(code)) != chr(code)}
        assert all(len(other) == 1 for other in found.values())
    connection.close()


def test_every_letter_has_the_same_case_everywhere():
    check_letters()


def test_planted_letters_of_a_locale_are_caught(monkeypatch):
    monkeypatch.setattr(letters, "_SIMPLE", {"lower": {"I": "ı"}, "upper": {}})
    with pytest.raises(AssertionError):
        check_letters()


def test_letters_of_labels(bench):
    for function, change in (("LOWER", str.lower), ("upper", str.upper)):
        bound = bench.bind(f"{function}(region)")
        assert bound.category.values == tuple(map(change, LABELS))
    assert bench.bind("LOWER('ÉTÉ')").node.value == "été"


def test_equal_labels_become_one(bench):
    bound = bench.bind("SUBSTRING(region, 1, 0)")
    assert bound.category.values == ("",)
    assert set(bench.run(bound.node)) == {0, None}
    merged = bench.bind("CASE WHEN region = 'South' THEN 'north' ELSE region END")
    assert merged.category.values == ("north", "South", "ÉTÉ", "a b ")


def test_joined_texts_are_null_if_one_is(bench):
    wanted = [None if row["name"] is None else f"{row['name']}-{row['name']}" for row in bench.rows]
    assert bench.values("name || '-' || name") == wanted
    assert bench.bind("name || ('-' || name)").node == bench.bind("(name || '-') || name").node


def test_choices_of_texts(bench):
    assert bench.values("CASE WHEN n > 3 THEN name WHEN n > 2 THEN 'three' END") == [
        row["name"] if row["n"] > 3 else "three" if row["n"] == 3 else None for row in bench.rows
    ]
    bound = bench.bind("CASE WHEN n > 3 THEN level WHEN n = 0 THEN 'none' ELSE region END")
    assert bound.category.values == ("low", "high", "none", *LABELS)
    levels = ["low", "high"]
    wanted = [
        levels[row["level"]] if row["n"] > 3 else "none" if row["n"] == 0
        else None if row["region"] is None else LABELS[row["region"]]
        for row in bench.rows
    ]  # fmt: skip
    assert [None if c is None else bound.category.decode(c) for c in bench.run(bound.node)] == wanted


def test_computed_labels_are_compared_like_declared_ones(bench):
    for text, wanted in {
        "COALESCE(region, 'none') = 'none'": lambda r: r is None,
        "COALESCE(region, 'none') LIKE 'n%'": lambda r: r is None or r == "north",
        "UPPER(region) IN ('NORTH', 'SOUTH')": lambda r: None if r is None else r in ("north", "South"),
        "LENGTH(region) > 3": lambda r: None if r is None else len(r) > 3,
        "region ILIKE 'été'": lambda r: None if r is None else r == "ÉTÉ",
        "region NOT ILIKE 's_U%'": lambda r: None if r is None else r != "South",
    }.items():
        labels = [None if row["region"] is None else LABELS[row["region"]] for row in bench.rows]
        assert bench.values(text) == [wanted(label) for label in labels], text


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("'a'", {"a", "A"}),
        ("'ÉTÉ'", {"été", "ÉTÉ"}),
        ("'É%'", {"été", "ÉTÉ"}),
        ("'straße'", {"straße"}),  # the upper case of ß is two letters, so it matches itself alone
        ("'strasse'", {"STRASSE"}),
        ("'k'", {"K"}),  # the Kelvin sign is another character
        ("'_'", {"a", "A", "😀", "K", "\u212a"}),
        ("'100\\%'", {"100%"}),
        ("'a!%' ESCAPE '!'", set()),
    ],
)
def test_ilike(bench, pattern, matched):
    found = bench.values(f"name ILIKE {pattern}")
    assert found == [None if row["name"] is None else row["name"] in matched for row in bench.rows]


def test_patterns_of_any_case_are_one_question(bench):
    assert bench.bind("name ILIKE 'Ab%'").node == bench.bind("name ILIKE 'aB%%'").node


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("LOWER(x)", "LOWER takes text, not a number"),
        ("LENGTH(x)", "LENGTH takes text, not a number"),
        ("SUBSTRING(x, 1, 2)", "SUBSTRING takes text, not a number"),
        ("SUBSTRING(name, n, 2)", "a whole number from"),
        ("SUBSTRING(name, 1, -1)", "a whole number from 0"),
        ("LEFT(name, -1)", "a whole number from 0"),
        ("TRIM(BOTH 'x' FROM name)", "TRIM removes spaces only"),
        ("name || x", "cannot be joined"),
        ("name || region", "cannot be joined"),
        ("COALESCE(name, region)", "cannot stand beside each other"),
        (f"name || '{'a' * 65_497}'", "can have 65537 characters; at most 65536 are computed"),
        ("INITCAP(name)", "INITCAP is not supported"),
        ("REPLACE(name, 'a', 'b')", "the function REPLACE is not supported"),
        ("REPEAT('x', 2000000000)", "the function REPEAT is not supported"),
        ("name ~ 'a.*'", "regular expressions are not supported"),
        ("name ~* 'a.*'", "regular expressions are not supported"),
        ("REGEXP_REPLACE(name, 'a', 'b')", "regular expressions are not supported"),
        ("name SIMILAR TO 'a%'", "SIMILAR TO is not supported"),
        ("TO_CHAR(x, '999')", "TO_CHAR takes a date or timestamp, not a number"),
        ("TO_DATE(name, 'YYYY')", "fails on some texts"),
        ("TO_NUMBER(name, '999')", "fails on some texts"),
    ],
)
def test_refused(bench, text, said):
    with pytest.raises(UnsupportedQuery) as caught:
        bench.bind(text)
    assert said in str(caught.value)
    assert (caught.value.line, caught.value.column >= 14) == (1, True)
