"""Labels, keys, names and notes that would act where they are shown: no output of an answer lets them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dither import escape
from dither.answer import Answer, Key, Value
from dither.answer.document import csv_bytes
from dither.errors import ParameterError, UnsupportedQuery
from dither.sql.pricing.explanation import Explanation

LABELS = [
    "plain",
    "ä 漢字",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "]]>",
    "&lt;",
    "\"' onmouseover='x",
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\link",
    "\x9b2J",
    "\x00",
    "\x01",
    "\x08\x08\x08",
    "\x7f",
    "one\ntwo",
    "one\r\ntwo",
    "\rover",
    "\x0b\x0c\x85",
    "\u202egnp.exe",
    "\u2066hidden\u2069",
    "\u200b\ufeff\u00ad",
    "\u2028line\u2029",
    "\ufffe\uffff",
    "\U000e0041\U000e0042",
    "=1+1",
    "+1",
    "-1+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "  =1",
    "＝1",
    "'quoted",
    '"=1"',
    ",;|",
    "x" * 70_000,
    "a\u0300" * 300,
    "",
    "NULL",
    "datum.value",
    "${1}",
    "\\u001b",
]
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def answer_of(labels: list[str]) -> Answer:
    """Every label once as a key, as the name of a column and as a note."""
    numbers = np.arange(len(labels))
    values = [Value(label, numbers, half_width=Fraction(2)) for label in labels[:3]]
    return Answer(
        (Key(labels[-1], pa.array(labels)), *values),
        price={"epsilon": "0.5"},
        guarantee=labels[0],
        confidence=Fraction(19, 20),
        notes=tuple(labels),
    )


def check_text(text: str) -> None:
    assert all(line.isprintable() for line in text.split("\n")), "text that acts on a terminal"


def check_terminal(answer: Answer) -> None:
    check_text(str(answer))
    check_text(answer.to_text(rows=1000, marks="brackets"))
    assert max(map(len, str(answer).split("\n"))) < 5000, "a label fills the screen"


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found |= {tag, *(name for name, _ in attrs)}

    def handle_comment(self, data: str) -> None:
        self.found.add("comment")


def check_html(page: str) -> None:
    check_text(page)
    tags = Tags()
    tags.feed(page)
    allowed = {"div", "table", "thead", "tbody", "tr", "th", "td", "span", "small", "p", "style", "title"}
    assert tags.found <= allowed, "a label became markup"


def check_csv(content: bytes, columns: int, rows: int) -> None:
    text = content.decode()
    check_text(text)
    read = list(csv.reader(io.StringIO(text)))
    assert {len(row) for row in read} == {columns}
    assert len(read) == rows + 1
    cells = [*read[0], *(row[0] for row in read)]
    assert not any(cell.lstrip(" ").startswith(FORMULAS) for cell in cells), "a formula in a cell"


def check_json(answer: Answer, labels: list[str]) -> None:
    text = answer.to_json()
    check_text(text)
    assert [row[answer.names[0]] for row in json.loads(text)["rows"]] == labels, "a label is lost"


@pytest.mark.parametrize("label", LABELS, ids=map(str, range(len(LABELS))))
def test_every_form_of_an_answer(label: str, tmp_path: Path) -> None:
    labels = [label, "b", "c", label + "."]
    answer = answer_of(labels)
    check_terminal(answer)
    check_html(answer._repr_html_())
    check_json(answer, labels)
    answer.to_csv(tmp_path / "answer.csv", intervals=False)
    check_csv((tmp_path / "answer.csv").read_bytes(), 4, 4)
    answer.to_csv(tmp_path / "raw.csv", intervals=False, raw=True)
    with (tmp_path / "raw.csv").open(encoding="utf-8", newline="") as file:
        assert [row[0] for row in csv.reader(file)][1:] == labels, "raw texts are as they are"


@pytest.mark.parametrize("label", LABELS, ids=map(str, range(len(LABELS))))
def test_errors_and_explanations(label: str) -> None:
    check_text(str(ParameterError(f"unknown column {label}")))
    check_text(str(UnsupportedQuery(f"unknown column {label}", line=1, column=2, hint=label)))
    content = {
        "tables": [label],
        "people": label,
        "groups": 1,
        "rows_per_owner": 2,
        "selected_keys": None,
        "price": {"epsilon": "1"},
        "confidence": "0.95",
        "trade": label,
        "columns": [],
        "strategy": label,
        "menu": [
            {
                "rows_per_owner": 1,
                "chosen": True,
                "columns": [{"name": label, "noise": 1.0, "left_out": [0.0, None]}],
                "owners_needed": 12,
            }
        ],
        "structure": [{"max_rows_per_owner_in": {label: 1}, "noise_times": 0.5}],
        "notes": [label],
        "statements": [],
    }
    explained = Explanation(content)
    check_text(str(explained))
    check_html(explained._repr_html_())
    assert json.loads(explained.to_json()) == content
    check_text(explained.to_json())


# Pictures are saved in another process: what the renderer cannot hold would end ours.
DRAW = """
import json, sys
from fractions import Fraction
from pathlib import Path
import numpy as np, pyarrow as pa
import dither as dt
from dither.answer import Answer, Key, Value
from dither.plot.outcome_text import words as said

labels, folder, planted = json.loads(sys.stdin.read()), Path(sys.argv[1]), sys.argv[2] == "planted"
if planted:  # as it once was: "<" alone is replaced
    import dither.escape, dither.plot.style
    dither.plot.style.shortened = lambda text, most: str(text)
    dither.plot.style.distinct_labels = lambda found: {label: str(label) for label in found}

def answer(*columns):
    return Answer(columns, price={"epsilon": "0.5"}, guarantee=labels[0], confidence=Fraction(19, 20), notes=())

def save(name, chart, kinds=("svg", "png", "html")):
    for kind in kinds:
        chart.save(folder / f"{name}.{kind}")

numbers = np.arange(len(labels))
bars = answer(Key(labels[0], pa.array(labels)), Value(labels[1], numbers, half_width=Fraction(2)))
save("bars", bars.plot())
few = labels[:6]
both = [Key("a", pa.array([label for label in few for _ in few])), Key(labels[2], pa.array(few * len(few)))]
save("colours", answer(*both, Value("n", np.arange(len(few) ** 2), half_width=Fraction(2))).plot(title=labels[3]))
some = [*labels[:50], chr(0xD800), chr(0xDFFF) + "x"]  # halves of characters, which no file can hold
scores = {label: place for place, label in enumerate(some)}
save("choice", dt.Exponential(epsilon=1, sensitivity=1).plot(scores), ("svg",))
response = dt.RandomizedResponse(epsilon=1, values=some)
for label in [*some[1:4], *some[8:14], *some[-2:]]:
    save("response", response.plot(label, some[0]), ("svg",))
save("words", said(labels[4], labels[5], some))
print("done")
"""


def drawn(labels: list[str], folder: Path, how: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", DRAW, str(folder), how],
        input=json.dumps(labels).encode(),
        capture_output=True,
        check=False,
    )


def check_pictures(labels: list[str], folder: Path, how: str = "as it is") -> None:
    from xml.etree import ElementTree

    done = drawn(labels, folder, how)
    assert done.returncode == 0, f"the renderer ended with {done.returncode}"
    assert done.stdout.strip() == b"done"
    for file in folder.glob("*.svg"):
        tree = ElementTree.parse(file)  # valid XML
        kinds = {element.tag.rsplit("}")[-1] for element in tree.iter()}
        assert not kinds & {"script", "img", "foreignObject"}, "a label became markup"
        texts = [text for element in tree.iter() if (text := element.text)]
        assert all(text.replace("\u200b", "").isprintable() for text in texts if text.strip())
    for file in folder.glob("*.html"):
        page = file.read_text(encoding="utf-8")
        assert "<script>alert" not in page, "a label became a script"
        assert "<img src=x" not in page, "a label became markup"
    bars = (folder / "bars.html").read_text(encoding="utf-8")
    assert "x" * 5000 not in bars, "a label fills the page"


def test_pictures_are_saved_whatever_the_labels(tmp_path: Path) -> None:
    check_pictures(LABELS, tmp_path)


def test_labels_that_look_alike_stay_apart() -> None:
    alike = ["a\x00", "a\x01", "a\ufffd", "a\ufffd (2)", "y" * 500, "y" * 501]
    shown = escape.distinct_labels(alike)
    assert len(set(shown.values())) == len(alike)
    assert all(text.isprintable() for text in shown.values())


def test_planted_control_characters_in_pictures(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="renderer ended"):
        check_pictures(["a\x00b", "c", "d", "e", "f", "g"], tmp_path, "planted")


def test_planted_labels_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the step that each form relies on, its check notices."""
    acting, formula, tag = answer_of(["\x1b[2J", "b", "c"]), answer_of(["=1", "b", "c"]), answer_of(["<b>", "b", "c"])
    with monkeypatch.context() as planted:
        planted.setattr(escape, "visible", str)
        with pytest.raises(AssertionError, match="acts on a terminal"):
            check_terminal(acting)
        with pytest.raises(AssertionError, match="acts on a terminal"):
            check_csv(csv_bytes(acting, intervals=False), 4, 3)
        with pytest.raises(AssertionError, match="acts on a terminal"):
            check_text(str(ParameterError("unknown column \x1b[2J")))
    with monkeypatch.context() as planted:
        planted.setattr(escape, "_FORMULA", ("never",))
        with pytest.raises(AssertionError, match="a formula"):
            check_csv(csv_bytes(formula, intervals=False), 4, 3)
    with monkeypatch.context() as planted:
        planted.setattr("html.escape", str)
        with pytest.raises(AssertionError, match="became markup"):
            check_html(tag._repr_html_())
    with monkeypatch.context() as planted:
        planted.setattr(escape, "_numbered", str)
        with pytest.raises(AssertionError, match="acts on a terminal"):
            check_json(answer_of(["\x9b2J", "b", "c"]), ["\x9b2J", "b", "c"])
    with monkeypatch.context() as planted:
        planted.setattr(escape, "MOST_SHOWN", 10**6)
        planted.setattr(escape.shortened, "__defaults__", (10**6,))
        with pytest.raises(AssertionError, match="fills the screen"):
            check_terminal(answer_of(["x" * 70_000, "b", "c"]))
