"""A draft is made of names and types: no value can show in it, and it is refused until it is filled in."""

from __future__ import annotations

import datetime
import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.curator.policy_files import draft, read_policy
from dither.curator.policy_files.draft import _quoted
from dither.errors import PolicyError
from dither.policy.columns import KINDS

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "size": pa.uint8(),
        "fee": pa.float64(),
        "price": pa.decimal128(9, 2),
        "far": pa.decimal128(38, 25),
        "ok": pa.bool_(),
        "day": pa.date32(),
        "seen": pa.timestamp("us", "UTC"),
        "region": pa.string(),
        "code": pa.dictionary(pa.int32(), pa.string()),
        "two words": pa.int64(),
        "many": pa.list_(pa.int64()),
    }
)
SMALL = [1, 2, 0.5, Decimal("1.25"), Decimal("1.5"), True, datetime.date(2024, 1, 1), None, "north", "a", 3, [1]]
LARGE = [2**60, 255, 1e300, Decimal("9999999.99"), None, None, None, None, "canary", "canary", None, [7] * 99]


def parquet(folder: Path, *rows: list[Any]) -> Path:
    folder.mkdir()
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(SCHEMA)]
    pq.write_table(pa.table(columns, SCHEMA), folder / "visits.parquet")
    return folder / "visits.parquet"


def csv(folder: Path, *lines: str) -> Path:
    folder.mkdir()
    (folder / "visits.csv").write_text("\n".join(["id,age,region", *lines]) + "\n")
    return folder / "visits.csv"


def drafted(source: Path) -> str:
    return draft([source], source.parent / "clinic.toml")


def test_values_do_not_matter(tmp_path: Path) -> None:
    sources = [
        parquet(tmp_path / "a", SMALL),
        parquet(tmp_path / "b", LARGE, SMALL, LARGE),
        parquet(tmp_path / "c"),
        parquet(tmp_path / "d", [None] * len(SCHEMA)),
    ]
    assert len({drafted(source) for source in sources}) == 1
    assert "canary" not in drafted(sources[1])


def test_values_of_csv_do_not_matter(tmp_path: Path) -> None:
    sources = [csv(tmp_path / "a", "1,20,north"), csv(tmp_path / "b", "x,canary,3.5", "torn"), csv(tmp_path / "c")]
    assert len({drafted(source) for source in sources}) == 1


def test_what_types_tell(tmp_path: Path) -> None:
    table = tomllib.loads(drafted(parquet(tmp_path / "a", SMALL)))["tables"]["visits"]
    blank = {"lower": "FILL IN", "upper": "FILL IN"}
    assert table["source"] == "visits.parquet"
    assert table["columns"] == {
        "id": {"kind": "int", **blank},
        "size": {"kind": "int", **blank},
        "fee": {"kind": "fixed", **blank, "decimals": "FILL IN"},
        "price": {"kind": "fixed", **blank, "decimals": 2},
        "far": {"kind": "fixed", **blank, "decimals": "FILL IN"},
        "ok": {"kind": "bool"},
        "day": {"kind": "date", **blank},
        "seen": {"kind": "timestamp", **blank},
        "region": {"kind": "text"},
        "code": {"kind": "text"},
        "two_words": {"kind": "int", **blank, "source": "two words"},
    }


def test_a_draft_is_refused_until_it_is_filled_in(tmp_path: Path) -> None:
    source = csv(tmp_path / "a", "1,20,north")
    path = tmp_path / "a" / "clinic.toml"
    path.write_text(drafted(source))
    with pytest.raises(PolicyError) as caught:
        read_policy(path)
    listed = str(caught.value).partition("still to be filled in: ")[2].rstrip(".").split(", ")
    assert listed == [
        *("people.people.epsilon", "people.people.delta", "tables.visits.owner", "tables.visits.max_rows_per_owner"),
        *(f"tables.visits.columns.{name}.kind" for name in ("id", "age", "region")),
    ]
    values = iter(["4", '"1e-6"', '"id"', "3", '"bool"', '"bool"', '"text"'])
    filled = re.sub('= "FILL IN"', lambda _: f"= {next(values)}", drafted(source))
    path.write_text(filled)
    assert read_policy(path).tables[0].table.name == "visits"


def test_hostile_names_stay_in_their_place(tmp_path: Path) -> None:
    """A column's or a file's name cannot add a line to the draft."""
    name = 'x"\n[people.eve]\nepsilon = 99\n#\x7f'
    pq.write_table(pa.table({name: [1], "x": [1]}), tmp_path / '9 "odd".parquet')
    text = draft([tmp_path / '9 "odd".parquet'] * 2, tmp_path / "sub" / "p.toml", people="p q")
    read = tomllib.loads(text)
    assert list(read["people"]) == ["p q"]
    assert list(read["tables"]) == ["t_9_odd", "t_9_odd_2"]
    assert read["tables"]["t_9_odd"]["source"] == '../9 "odd".parquet'
    assert list(read["tables"]["t_9_odd"]["columns"]) == ["x_people_eve_epsilon_99", "x"]
    assert read["tables"]["t_9_odd"]["columns"]["x_people_eve_epsilon_99"]["source"] == name


def test_sources_that_are_none(tmp_path: Path) -> None:
    for name, message in {"a.xlsx": "neither .parquet nor .csv", "b.parquet": "cannot be read as Parquet"}.items():
        (tmp_path / name).write_text("x")
        with pytest.raises(PolicyError, match=message):
            draft([tmp_path / name], tmp_path / "p.toml")
    with pytest.raises(PolicyError, match="there is no file"):
        draft([tmp_path / "none.csv"], tmp_path / "p.toml")


def test_names_with_spaces_and_semicolons(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("id;Visit Date;visit_date;2nd\n1;2024-01-01;x;y\n")
    text = drafted(tmp_path / "visits.csv")
    assert 'delimiter = ";"' in text
    assert 'Visit_Date_2 = { kind = "FILL IN", source = "Visit Date" }' in text
    assert 'c_2nd = { kind = "FILL IN", source = "2nd" }' in text
    assert "[public.NAME]" in text
    values = iter(["4", '"1e-6"', '"id"', "3", *['"text"'] * 4])
    filled = re.sub('= "FILL IN"', lambda _: f"= {next(values)}", text)
    (tmp_path / "clinic.toml").write_text(filled)
    (table,) = read_policy(tmp_path / "clinic.toml").tables
    assert table.delimiter == ";"
    assert table.table.columns["Visit_Date_2"].source == "Visit Date"


def test_the_examples_of_kinds_are_right(tmp_path: Path) -> None:
    lines = re.findall(r"^#   (\{.*\})$", drafted(csv(tmp_path / "a")), re.MULTILINE)
    columns = "\n".join(f"c{i} = {line}" for i, line in enumerate(lines))
    (tmp_path / "p.toml").write_text(
        f'[public.t]\nsource = "a/visits.csv"\nkey = "c0"\n[public.t.columns]\n{columns}\n'
    )
    (table,) = read_policy(tmp_path / "p.toml").tables
    assert [column.kind for column in table.table.columns.values()] == list(KINDS)


@pytest.mark.parametrize("name", ["a\x1b[2J", "\u202egnp", "\U000e0041", "\x7f\x9b", 'quote" and \n', "ä 漢"])
def test_names_are_quoted_so_that_they_can_be_read_again_and_act_on_nothing(name: str) -> None:
    written = _quoted(name)
    assert written.isprintable()
    assert tomllib.loads(f"{written} = {_quoted(name, always=True)}") == {name: name}
