"""An answer as bars with intervals."""

from __future__ import annotations

import datetime
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.answer import Key, Value


def answer(*columns):
    return dt.Answer(columns, {"epsilon": "0.5"}, "0.5-DP", Fraction(95, 100))


def test_bars_and_intervals_are_those_of_the_answer(drawn, saved):
    table = answer(
        Key("region", pa.array(["north", "south", None])),
        Value("patients", np.array([120, 45, -3]), half_width=Fraction(11, 2)),
    )
    chart = table.plot()
    assert drawn(chart, "value") == [
        {"row": "north", "value": 120, "lower": 114, "upper": 126},
        {"row": "south", "value": 45, "lower": 39, "upper": 51},
        {"row": "NULL", "value": -3, "lower": -9, "upper": 3},
    ]
    texts = saved(chart)
    assert {"patients by region", "north", "south", "NULL", "region", "patients"} <= set(texts)
    assert "price: epsilon 0.5; lines hold the exact number with probability 95%, each by itself" in texts


def test_several_keys_and_columns(drawn, saved):
    table = answer(
        Key("region", pa.array(["north", "north", "south"])),
        Key("year", pa.array([2024, 2025, 2025])),
        Key("sex", pa.array(["f", "f", "m"])),
        Value("spent", np.array([120455, 10**20, -5], dtype=object), decimals=2),
        Value(
            "age", np.array([50.5, np.nan, 30]), lower=np.array([48, np.nan, 25.0]), upper=np.array([53, np.nan, 35.0])
        ),
    )
    chart = table.chart()
    spent, age = drawn(chart, "value")[:3], drawn(chart, "value")[3:]
    assert [bar["row"] for bar in spent] == ["north · 2024 · f", "north · 2025 · f", "south · 2025 · m"]
    assert [bar["value"] for bar in spent] == [1204.55, 1e18, -0.05]
    assert {bar["lower"] for bar in spent} == {None}
    assert age[1] == {"row": "north · 2025 · f", "value": None, "lower": None, "upper": None}
    assert {"spent, age by region, year, sex", "spent", "age"} <= set(saved(chart))


def test_one_number_and_rows_without_keys(drawn, saved):
    chart = answer(Value("n", np.array([7]))).plot()
    assert [bar["value"] for bar in drawn(chart, "value")] == [7]
    assert "price: epsilon 0.5" in saved(chart)
    assert [bar["row"] for bar in drawn(answer(Value("n", np.array([7, 8]))).plot(), "value")] == ["1", "2"]


def test_an_answer_to_a_question(tmp_path, drawn, saved):
    rows = pa.table({"person": list(range(100)), "town": ["A", "B"] * 50})
    with dt.Curator.open(tmp_path / "folder") as curator:
        curator.register(
            "people",
            rows,
            owner="person",
            max_rows_per_owner=1,
            budget=dt.PureDP(4),
            columns={"town": dt.Category(["A", "B"])},
        )
        found = curator.sql("SELECT town, COUNT(*) AS persons FROM people GROUP BY town", epsilon=1)
    bars = drawn(found.plot(), "value")
    assert [bar["value"] for bar in bars] == found["persons"].tolist()
    assert [bar["upper"] for bar in bars] == found.interval("persons").upper.tolist()
    assert "persons by town" in saved(found.plot())


def test_names_stay_text_in_a_saved_page(tmp_path):
    hostile = "</script><script>alert(1)</script>"
    table = answer(Key(hostile, pa.array([hostile])), Value(hostile + "n", np.array([1])))
    table.plot().save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    dt.Exponential(epsilon=1, sensitivity=1).plot({hostile: 1, "b": 2}).save(tmp_path / "page.html")
    assert "<script>alert" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_refusals():
    with pytest.raises(dt.ParameterError, match="no value column"):
        answer(Key("region", pa.array(["north"]))).plot()
    with pytest.raises(dt.ParameterError, match="no rows"):
        answer(Key("region", pa.array([], pa.string())), Value("n", np.array([], dtype=np.int64))).plot()


def marks(chart):
    """The kinds of marks in a chart."""
    shown = str(chart.to_dict())
    return {kind for kind in ("bar", "line", "area", "rule") if f"'type': '{kind}'" in shown}


def test_two_keys_are_rows_and_colours(drawn, saved):
    table = answer(
        Key("region", pa.array(["north", "north", "south", "south"])),
        Key("sex", pa.array(["f", None, "f", None])),
        Value("n", np.array([4, 3, 2, 1]), half_width=Fraction(1)),
    )
    bars = drawn(table.chart(), "value")
    assert [(bar["row"], bar["series"], bar["value"]) for bar in bars][:2] == [("north", "f", 4), ("north", "NULL", 3)]
    assert {"region", "sex", "f", "NULL", "north", "n by region, sex"} <= set(saved(table.chart()))


def test_the_key_with_fewer_values_gives_the_colours(drawn):
    table = answer(
        Key("sex", pa.array(["f", "m"] * 10)),
        Key("town", pa.array([f"town {place // 2}" for place in range(20)])),
        Value("n", np.arange(20)),
    )
    assert drawn(table.chart(), "value")[3] == {
        "row": "town 1",
        "value": 3,
        "lower": None,
        "upper": None,
        "series": "m",
    }


@pytest.mark.parametrize(
    ("key", "first"),
    [
        (pa.array([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), None]), "2024-01-01"),
        (pa.array([datetime.datetime(2024, 1, 1, 5), datetime.datetime(2024, 1, 1, 6), None]), "2024-01-01T05:00:00Z"),
        (pa.array([*range(40), None]), 0),
    ],
)
def test_days_times_and_long_ranges_are_lines_with_bands(key, first, drawn, saved):
    table = answer(Key("when", key), Value("n", np.arange(len(key)), half_width=Fraction(2)))
    chart = table.chart()
    shown = drawn(chart, "value")
    assert shown[0] == {"place": first, "value": 0, "lower": -2, "upper": 2}
    assert len(shown) == len(key) - 1
    assert marks(chart) == {"line", "area"}
    assert "when NULL is not drawn" in chart.to_dict()["title"]["subtitle"]
    assert {"when", "n by when"} <= set(saved(chart))


def test_a_time_and_another_key_are_lines_in_colours(drawn, saved):
    days = [datetime.date(2024, 1, day) for day in (1, 2, 3) for _ in range(2)]
    table = answer(Key("sex", pa.array(["f", "m"] * 3)), Key("day", pa.array(days)), Value("n", np.arange(6)))
    assert [point["series"] for point in drawn(table.chart(), "value")] == ["f", "m"] * 3
    assert marks(table.chart()) == {"line"}
    assert {"f", "m", "sex", "day"} <= set(saved(table.chart()))


def test_many_rows_are_cut_and_it_is_said(drawn, saved):
    table = answer(Key("zip", pa.array([f"zip {place}" for place in range(301)])), Value("n", np.arange(301)))
    assert len(drawn(table.chart(), "value")) == 300
    assert any("the first 300 of 301 rows are drawn" in text for text in saved(table.chart()))
    long = answer(Key("code", pa.array(range(5_001))), Value("n", np.arange(5_001)))
    assert len(drawn(long.chart(), "value")) == 5_000


def test_an_interval_without_both_ends_is_not_drawn(drawn):
    ratio = Value("r", np.array([2.0, 3.0]), lower=np.array([1.0, -np.inf]), upper=np.array([3.0, np.inf]))
    assert drawn(answer(Key("k", pa.array(["a", "b"])), ratio).chart(), "value") == [
        {"row": "a", "value": 2, "lower": 1, "upper": 3},
        {"row": "b", "value": 3, "lower": None, "upper": None},
    ]


def test_altair_is_asked_for_only_when_drawing_and_its_absence_is_explained():
    code = """
import sys
import dither as dt
m = dt.Laplace(epsilon=1, sensitivity=1)
m.release(1)
assert "altair" not in sys.modules
sys.modules["altair"] = None
try:
    m.plot()
except ImportError as missing:
    assert isinstance(missing, dt.DitherError)
    print(missing)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "not installed. In a checkout of dither: pip install '.[plot]'" in done.stdout


def test_a_title_of_ones_own_and_labels_that_keep_apart(saved):
    columns = [Value(name, np.array([123456, 654321]), half_width=Fraction(9)) for name in ("a", "b", "c")]
    chart = answer(Key("region", pa.array(["north", "south"])), *columns).chart(title="Visits")
    assert "Visits" in saved(chart)
    panels = chart.to_dict()["hconcat"]
    axes = [layer["encoding"]["x"]["axis"] for panel in panels for layer in panel["layer"]]
    assert {(axis["tickCount"], axis["labelOverlap"]) for axis in axes} == {(3, True)}


MONTHS = [datetime.date(2024, month, 1) for month in (1, 2, 3)]
MOMENTS = [datetime.datetime(2024, month, 1, tzinfo=datetime.UTC) for month in (1, 2, 3)]


@pytest.mark.parametrize(
    ("key", "places"),
    [
        (pa.array([*range(3), None]), ["0", "1", "2", "NULL"]),
        (pa.array([*MONTHS, None]), ["2024-01", "2024-02", "2024-03", "NULL"]),
        (pa.array([*MOMENTS, None]), ["2024-01", "2024-02", "2024-03", "NULL"]),
        (pa.array([Decimal("0.5"), Decimal("1.0"), Decimal("1.5"), None]), ["0.5", "1.0", "1.5", "NULL"]),
    ],
)
def test_months_and_a_few_numbers_are_columns_on_a_horizontal_axis(key, places, drawn, saved):
    table = answer(Key("when", key), Value("n", np.arange(4), half_width=Fraction(2)))
    chart = table.plot()
    assert [point["place"] for point in drawn(chart, "value")] == places
    (bars,) = [layer for layer in chart.to_dict()["layer"] if layer["mark"]["type"] == "bar"]
    assert bars["encoding"]["x"]["sort"] == places
    assert bars["encoding"]["x"]["title"] == "when"
    assert bars["encoding"]["y"]["title"] == "n"
    assert marks(chart) == {"bar", "rule"}
    assert {"when", "n", "n by when", *places} <= set(saved(chart))


@pytest.mark.parametrize("key", [pa.array([1, 1, 2, 2]), pa.array(["a", "a", "b", "b"])], ids=["columns", "bars"])
def test_error_lines_stand_at_the_centre_of_their_bars(key):
    table = answer(
        Key("place", key),
        Key("sex", pa.array(["f", "m"] * 2)),
        Value("n", np.arange(4), half_width=Fraction(2)),
    )
    layers = table.plot().to_dict()["layer"]
    offsets = {
        layer["mark"]["type"]: next(encoding for name, encoding in layer["encoding"].items() if "Offset" in name)
        for layer in layers
    }
    assert "bandPosition" not in offsets["bar"]
    assert offsets["rule"]["bandPosition"] == offsets["tick"]["bandPosition"] == 0.5


@pytest.mark.parametrize("key", [pa.array([1, 2]), pa.array(["a", "b"])], ids=["columns", "bars"])
def test_a_group_without_information_is_no_zero(key, drawn, saved):
    ends = {"lower": np.array([3.0, 0.0]), "upper": np.array([5.0, 9.0])}
    chart = answer(Key("k", key), Value("mean", np.array([4.0, 0.0]), **ends, possible=(0, 9))).plot()
    shown = drawn(chart, "value")
    assert (shown[0]["value"], shown[1]["value"], shown[1]["lower"]) == (4, None, None)
    assert [(text["at"], text["remark"]) for text in drawn(chart, "remark", "at")] == [(0, "no information")]
    assert "no information" in saved(chart)


def test_a_picture_says_nothing_of_charging():
    """It is published; when and whether somebody paid is nobody's business."""
    table = replace(answer(Key("k", pa.array(["a"])), Value("n", np.array([4]))), charged=False)
    assert "nothing was charged" in str(table)
    assert "charge" not in str(table.plot().to_dict())
    assert table.plot().to_dict()["title"]["subtitle"] == ["price: epsilon 0.5"]


def test_moments_at_midnight_are_written_as_dates():
    months = answer(Key("m", pa.array([*MOMENTS, None])), Value("n", np.arange(4)))
    assert [line.split()[0] for line in str(months).splitlines()[2:6]] == [
        "2024-01-01",
        "2024-02-01",
        "2024-03-01",
        "NULL",
    ]
    assert "00:00" not in str(months)
    assert "00:00" not in months._repr_html_()
    hours = answer(Key("h", pa.array([MOMENTS[0], MOMENTS[0].replace(hour=5)])), Value("n", np.arange(2)))
    assert "2024-01-01 00:00:00+00:00" in str(hours)
