"""Column declarations on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dither.cli.columns import column, columns
from dither.cli.tables import column_text
from dither.errors import DitherError
from dither.policy.columns import Bool, Category, Column, Date, Fixed, Int, Text, Timestamp


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age=int:0:105", Int(0, 105)),
        ("t=int:-40:60", Int(-40, 60)),
        ("fee=fixed:0:500:2", Fixed(0, 500, decimals=2)),
        ("fee=fixed:-0.5:0.5:1", Fixed("-0.5", "0.5", decimals=1)),
        ("member=bool", Bool()),
        ("day=date:2023-01-01:2024-12-31", Date("2023-01-01", "2024-12-31")),
        ("at=timestamp:2023-01-01T00:00:00Z/2024-12-31", Timestamp("2023-01-01", "2024-12-31")),
        ("region=category:north,south", Category(["north", "south"])),
        ("region=category:the north,south", Category(["the north", "south"])),
        ("note=text", Text()),
        ("note=text:200", Text(max_length=200)),
        ("age=int:0:105 default 7", Int(0, 105, nullable=False, default=7)),
        ("fee=fixed:0:500:2 default 1.50", Fixed(0, 500, decimals=2, nullable=False, default="1.50")),
        ("member=bool default false", Bool(nullable=False, default=False)),
        ("region=category:a,b default b", Category(["a", "b"], nullable=False, default="b")),
        ("note=text default none", Text(nullable=False, default="none")),
    ],
)
def test_declarations(text: str, expected: Column) -> None:
    name, declared = column(text)
    assert name == text.partition("=")[0]
    assert declared == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "NAME=KIND"),
        ("=int:0:1", "NAME=KIND"),
        ("age=integer:0:1", "unknown kind 'integer'; known are int, fixed"),
        ("age=int", "age=int:LOWER:UPPER"),
        ("age=int:0", "age=int:LOWER:UPPER"),
        ("age=int:0:1:2", "age=int:LOWER:UPPER"),
        ("age=int:a:b", "'a' is not a whole number"),
        ("age=int:9:1", "column 'age': the lower bound 9 is above the upper bound 1"),
        ("fee=fixed:0:1", "fee=fixed:LOWER:UPPER:DECIMALS"),
        ("fee=fixed:zero:1:2", "lower must be a finite number"),
        ("member=bool:1", "no arguments"),
        ("member=bool default maybe", "true or false"),
        ("day=date:yesterday:2024-01-01", "2024-12-31"),
        ("at=timestamp:2023-01-01", "at=timestamp:LOWER/UPPER"),
        ("region=category", "at least|between 1 and"),
        ("region=category:a,a", "differ"),
        ("region=category:a,b default c", "'c' is not one of"),
        ("age=int:0:105 default 200", "column 'age': 200 lies outside the declared values of int:0:105"),
        ("note=text:many", "'many' is not a whole number"),
    ],
)
def test_wrong_declarations_say_what_is_right(text: str, message: str) -> None:
    with pytest.raises(DitherError, match=message):
        column(text)


def test_labels_and_declarations_from_files(tmp_path: Path) -> None:
    (tmp_path / "regions.txt").write_text("north\nsouth\n")
    assert column(f"region=category:@{tmp_path}/regions.txt")[1] == Category(["north", "south"])
    file = tmp_path / "columns.json"
    file.write_text(json.dumps({"age": Int(0, 105).declaration()}))
    assert columns(["fee=fixed:0:1:2"], file) == {"age": Int(0, 105), "fee": Fixed(0, 1, decimals=2)}
    with pytest.raises(DitherError, match="'age' is declared twice"):
        columns(["age=int:0:1"], file)
    for wrong in ("[1]", "{", '{"age": 1}'):
        file.write_text(wrong)
        with pytest.raises(DitherError, match="JSON object of column declarations"):
            columns([], file)
    with pytest.raises(DitherError, match=r"nosuch\.json cannot be read"):
        columns([], tmp_path / "nosuch.json")
    with pytest.raises(DitherError, match=r"nosuch\.txt cannot be read"):
        column("region=category:@nosuch.txt")
    file.write_text('{"age": {"kind": "int", "lower": 5, "upper": 1}}')
    with pytest.raises(DitherError, match=r"column 'age': the lower bound 5 is above"):
        columns([], file)
    file.write_text('{"age": {"kind": "nosuch"}}')
    with pytest.raises(DitherError, match="unknown column kind 'nosuch'"):
        columns([], file)


def test_a_column_may_have_another_name_in_the_file() -> None:
    name, read = column("day[Visit Date]=date:2023-01-01:2024-12-31 default 2023-01-01")
    assert (name, read.source, read.default) == ("day", "Visit Date", "2023-01-01")
    assert column_text(read) == "date:2023-01-01:2024-12-31 default 2023-01-01  (from Visit Date)"
    assert column("region=category:a[b]=c,d")[1] == Category(["a[b]=c", "d"])
    for wrong in ("[x]=int:0:1", "age[=int:0:1", "age[]=int:0:1"):
        with pytest.raises(DitherError, match="NAME=KIND"):
            column(wrong)
