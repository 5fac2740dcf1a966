"""What an analyst does with an answer: reads it, prints it, turns it into other forms."""

from __future__ import annotations

import datetime
import json
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dither.answer import Answer, Key, Value, dense_keys
from dither.answer.cells import Cell
from dither.errors import DitherError, ParameterError
from dither.plot import MissingPackage
from dither.policy.columns import Category, Date, Int


def answer(*columns: Key | Value, notes: tuple[str, ...] = ()) -> Answer:
    return Answer(columns, price={"epsilon": "0.5"}, guarantee="", confidence=Fraction(19, 20), notes=notes)


@pytest.fixture
def visits() -> Answer:
    return answer(
        *dense_keys([("region", Category(["north", "south"]))]),
        Value("n", np.array([45712, 999, -3]), half_width=Fraction(41, 2)),
        Value("paid", np.array([123456, 5, 0]), decimals=2, half_width=Fraction("1.5")),
        Value(
            "mean",
            np.array([61.25, np.nan, 3.0]),
            lower=np.array([60.5, np.nan, -np.inf]),
            upper=np.array([62, np.nan, 9.0]),
        ),
        notes=("At most 100 rows of each owner are counted.",),
    )


def test_printed_table(visits: Answer) -> None:
    assert str(visits).splitlines() == [
        "region             n            paid           mean",
        "───────────────────────────────────────────────────",
        "north    45,712 ± 21   1,234.6 ± 1.6   61.25 ± 0.76",
        "south       999 ± 21       0.0 ± 1.6        unknown",
        "NULL         -3 ± 21       0.0 ± 1.6       3 ±    ?",
        "",
        "price: epsilon 0.5",
        "± holds the exact number with probability 95%, each by itself; digits below it are not shown",
        "± ?: no bound can be given, as where the noise allows a divisor of zero",
        "unknown: not defined for these noisy numbers, as a division by zero; NULL in other forms of the answer",
        "note: At most 100 rows of each owner are counted.",
    ]


def test_what_intervals_hold_is_said_where_there_are_some() -> None:
    chosen = Value("middle", np.array([7518]), decimals=2, mechanism="Quantile", left_out="up to 3 rows left out")
    assert str(answer(chosen)).splitlines()[3:] == ["", "price: epsilon 0.5"]
    two = answer(Value("middle", np.array([1, 2]), left_out="up to 3 rows left out"))
    assert "middle: up to 3 rows left out" in str(two), "which needs no interval"
    assert "±" not in str(two)
    counted = answer(chosen, Value("n", np.array([12]), half_width=Fraction(3)))
    assert "± holds the exact number" in str(counted)


def test_digits_that_the_noise_reaches_can_be_marked(visits: Answer) -> None:
    marked = visits.to_text(marks="brackets").splitlines()
    assert marked[2:5] == [
        "north    45,7(12) ± 21   1,23(4.6) ± 1.6   61.(25) ± 0.76",
        "south       9(99) ± 21       (0.0) ± 1.6          unknown",
        "NULL         (-3) ± 21       (0.0) ± 1.6       (3) ±    ?",
    ]
    assert marked[-1] == "digits that the noise reaches are in brackets"
    dimmed = visits.to_text("dim", rows=1)
    assert "45,7\x1b[2m12\x1b[22m ± 21" in dimmed
    assert "... 2 more rows" in dimmed
    plain = dimmed.replace("\x1b[2m", "").replace("\x1b[22m", "").splitlines()
    assert plain[2] == str(visits).splitlines()[2]


@pytest.mark.parametrize(
    ("text", "error", "sure"),
    [
        ("45,712", "96", "45,7"),
        ("45,700", "1,300", "4"),
        ("0.0451", "0.0013", "0.04"),
        ("0.0451", "0.0451", ""),
        ("-1,250", "11", "-1,2"),
        ("-3", "21", ""),
        ("1,000,000", "9", "1,000,00"),
        ("5", "0", "5"),
        ("5", "?", ""),
        ("north", "", "north"),
    ],
)
def test_sure_digits_stand_before_the_place_of_the_error(text: str, error: str, sure: str) -> None:
    assert text[: Cell(text, error).sure] == sure


def test_an_answer_without_rows_says_so() -> None:
    empty = answer(
        Key("k", pa.array([], pa.string())), Value("n", np.array([], dtype=np.int64), half_width=Fraction(3))
    )
    assert "\nno rows\n" in str(empty)
    assert "<table>" in empty._repr_html_()
    assert empty.to_dicts(intervals=True) == []
    assert len(empty) == 0
    assert json.loads(empty.to_json())["rows"] == []


def test_long_tables_are_cut_and_say_so() -> None:
    text = str(answer(*dense_keys([("k", Int(1, 1000, nullable=False, default=1))]), Value("n", np.zeros(1000, int))))
    assert "... 968 more rows; to_text(rows=1000) shows all" in text
    assert len(text.splitlines()) < 48
    one_more = answer(Value("n", np.zeros(33, int)))
    assert "... 1 more row; to_text(rows=33) shows all\n" in str(one_more)
    assert "... 1 more row<" in one_more._repr_html_()


def test_labels_cannot_break_the_table_or_the_page() -> None:
    hostile = answer(
        *dense_keys([("k", Category(["<b>x</b>\n\x1b[31m"], nullable=False, default="<b>x</b>\n\x1b[31m"))])
    )
    assert "\x1b" not in str(hostile)
    assert len(str(hostile).splitlines()) == 5
    assert "<b>" not in hostile._repr_html_()
    assert "&lt;b&gt;" in hostile._repr_html_()


def test_html_shows_the_same_cells(visits: Answer) -> None:
    html = visits._repr_html_()
    assert '45,7<span style="color:#888">12</span>' in html
    assert "± 21" in html
    assert "At most 100 rows" in html


def test_single_value() -> None:
    assert answer(Value("n", np.array([5]))).value == 5
    assert type(answer(Value("n", np.array([5]))).value) is int
    assert answer(Value("paid", np.array([1999]), decimals=2)).value == Decimal("19.99")
    assert answer(Value("mean", np.array([0.5]))).value == 0.5
    with pytest.raises(ParameterError, match="2 rows and 1 value column;"):
        _ = answer(Value("n", np.array([5, 6]))).value


def test_columns_by_name(visits: Answer) -> None:
    assert visits["n"].tolist() == [45712, 999, -3]
    assert visits["paid"].tolist() == [Decimal("1234.56"), Decimal("0.05"), Decimal("0.00")]
    assert visits["region"].tolist() == ["north", "south", None]
    with pytest.raises(DitherError, match="no column 'x'; the answer has: region, n, paid, mean"):
        _ = visits["x"]


def test_intervals_are_rounded_outward_to_the_unit(visits: Answer) -> None:
    lower, upper = visits.interval("n")
    assert lower.tolist() == [45691, 978, -24]
    assert upper.tolist() == [45733, 1020, 18]
    assert visits.interval("paid").lower.tolist()[1] == Decimal("-1.45")
    assert visits.interval("mean").upper.tolist()[0] == 62
    with pytest.raises(ParameterError, match="no interval"):
        visits.interval("region")


def test_intervals_do_not_wrap_around() -> None:
    edge = answer(Value("n", np.array([2**63 - 1, -(2**63)]), half_width=Fraction(10)))
    lower, upper = edge.interval("n")
    assert lower.tolist() == [2**63 - 11, -(2**63) - 10]
    assert upper.tolist() == [2**63 + 9, -(2**63) + 10]
    assert edge.to_arrow(intervals=True).column("n_upper").to_pylist() == [2**63 + 9, -(2**63) + 10]


def test_float_columns_with_one_half_width_are_widened_outward() -> None:
    lower, upper = answer(Value("mean", np.array([0.1]), half_width=Fraction(1, 3))).interval("mean")
    assert Fraction(lower[0]) <= Fraction(0.1) - Fraction(1, 3)
    assert Fraction(upper[0]) >= Fraction(0.1) + Fraction(1, 3)


def test_arrow_pandas_and_polars_agree(visits: Answer) -> None:
    table = visits.to_arrow(intervals=True)
    assert table.column_names == [
        *("region", "n", "n_lower", "n_upper", "paid", "paid_lower", "paid_upper", "mean", "mean_lower", "mean_upper"),
    ]
    assert table.schema.field("paid").type == pa.decimal128(38, 2)
    assert visits.to_pandas()["n"].tolist() == visits.to_polars()["n"].to_list() == [45712, 999, -3]
    assert visits.to_pandas(intervals=True)["n_upper"].tolist() == [45733, 1020, 18]
    assert visits.to_polars()["region"].to_list() == ["north", "south", None]
    assert visits.to_polars()["paid"].to_list()[0] == Decimal("1234.56")


def test_pandas_computes_with_decimals(visits: Answer) -> None:
    frame = visits.to_pandas(intervals=True)
    assert frame.dtypes[["n", "paid", "paid_lower", "mean"]].astype(str).tolist() == ["int64", *["float64"] * 3]
    assert (frame["paid"] / frame["n"])[0] == 1234.56 / 45712
    assert frame["paid"].mean() == pytest.approx(1234.61 / 3)
    assert visits.to_pandas(decimals="decimal")["paid"].tolist()[0] == Decimal("1234.56")
    far = answer(Value("far", np.array([10**60, 5], dtype=object), decimals=1))
    assert far.to_pandas()["far"].tolist() == [1e59, 0.5]
    with pytest.raises(ParameterError, match='"float" or "decimal"'):
        visits.to_pandas(decimals="int")  # type: ignore[arg-type]


def test_rows_one_by_one_and_in_a_file(visits: Answer, tmp_path: Path) -> None:
    assert list(visits) == visits.to_dicts()
    assert [row["n"] for row in visits] == [45712, 999, -3]
    visits.to_csv(tmp_path / "a.csv")
    visits.to_csv(str(tmp_path / "b.csv"), intervals=False)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    above = [line for line in lines if line.startswith("# ")]
    assert above[:2] == [
        "# price: epsilon 0.5",
        "# the interval holds the exact number with probability 95%, each by itself",
    ]
    assert lines[len(above) : len(above) + 2] == [
        '"region","n","n_lower","n_upper","paid","paid_lower","paid_upper","mean","mean_lower","mean_upper"',
        '"north",45712,45691,45733,1234.56,1233.06,1236.06,61.25,60.5,62',
    ]
    assert (tmp_path / "b.csv").read_text().splitlines()[2] == '"south",999,0.05,'


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_named(visits: Answer, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(MissingPackage, match=rf"pip install '\.\[{package}\]'.*\.to_dicts\(\)") as caught:
        getattr(visits, f"to_{package}")()
    assert isinstance(caught.value, DitherError)
    assert isinstance(caught.value, ImportError)
    assert len(visits.to_dicts()) == 3


def test_json_says_everything_and_loses_nothing(visits: Answer) -> None:
    document = json.loads(visits.to_json())
    assert document["rows"][0] == {
        "region": "north",
        "n": 45712,
        "n_lower": 45691,
        "n_upper": 45733,
        "paid": "1234.56",
        "paid_lower": "1233.06",
        "paid_upper": "1236.06",
        "mean": 61.25,
        "mean_lower": 60.5,
        "mean_upper": 62.0,
    }
    assert document["rows"][1]["mean"] is None
    assert document["price"] == {"epsilon": "0.5"}
    assert document["confidence"] == "0.95"
    assert document["notes"] == ["At most 100 rows of each owner are counted."]
    assert document["columns"][1]["half_width"] == 20.5


def test_an_answer_given_again_says_that_it_was_paid_before(visits: Answer) -> None:
    again = replace(visits, charged=False)
    assert "\nprice: epsilon 0.5 (paid before; nothing was charged now)\n" in str(again)
    assert "nothing was charged now" in again._repr_html_()
    assert "nothing was charged now" not in str(visits)
    assert json.loads(again.to_json())["charged"] is False
    assert json.loads(visits.to_json())["charged"] is True


@pytest.fixture
def means() -> Answer:
    """Averages within [0, 240]: one known, one at the edge of which nothing is known."""
    return answer(
        Value(
            "mean", np.array([61.25, 240.0]), lower=np.array([60.5, 0]), upper=np.array([62, 240.0]), possible=(0, 240)
        )
    )


def test_an_interval_that_is_the_whole_range_is_no_information(means: Answer) -> None:
    lines = str(means).splitlines()
    assert lines[2:4] == ["  61.25 ± 0.76", "no information"]
    assert any(line.startswith("no information: ") for line in lines)
    assert "no information" in means._repr_html_()
    assert json.loads(means.to_json())["columns"][-1]["no_information"] == [1]
    assert means["mean"].tolist() == [61.25, 240]
    assert means.to_dicts(intervals=True)[1] == {"mean": 240.0, "mean_lower": 0.0, "mean_upper": 240.0}
    assert json.loads(means.to_json())["rows"][1]["mean"] == 240


def test_a_range_of_one_value_is_known() -> None:
    zeros = np.zeros(1)
    assert "no information" not in str(answer(Value("mean", zeros, lower=zeros, upper=zeros, possible=(0, 0))))


def test_nothing_is_drawn_where_nothing_is_known(means: Answer) -> None:
    bars = means.plot().to_dict()["layer"][0]
    data = bars["data"]["values"] if "data" in bars else means.plot().to_dict()["data"]["values"]
    assert [row["value"] for row in data] == [61.25, None]
    assert [row["upper"] for row in data] == [62, None]


def test_dates_are_dates() -> None:
    days = answer(*dense_keys([("day", Date("2024-02-28", "2024-03-01"))]))
    assert days.to_dicts()[1] == {"day": datetime.date(2024, 2, 29)}
    assert json.loads(days.to_json())["rows"][1] == {"day": "2024-02-29"}


def test_repeated_names_do_not_hide_each_other() -> None:
    twice = answer(Value("n", np.array([1])), Value("n", np.array([2])), Value("n_2", np.array([3])))
    assert twice.to_dicts() == [{"n": 1, "n_3": 2, "n_2": 3}]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: answer(),
        lambda: answer(Value("a", np.array([1])), Value("b", np.array([1, 2]))),
        lambda: Value("a", np.array([1]), lower=np.array([0])),
        lambda: Value("a", np.array([1]), lower=np.array([0, 1]), upper=np.array([1])),
        lambda: Value("a", np.array([1], dtype=np.int32)),
        lambda: Value("a", np.array([[1]])),
    ],
)
def test_malformed_columns_are_refused(wrong: object) -> None:
    with pytest.raises(ParameterError):
        wrong()  # type: ignore[operator]
