"""The lessons show what they say, the page is theirs, and the notebook runs."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from dither.lab.museum.catalogue import EXHIBITS
from dither.lab.textbook.catalogue import CHAPTERS, LESSONS, found
from dither.lab.textbook.lesson import Lesson
from dither.lab.textbook.notebook import notebook
from dither.lab.textbook.tour import lines

ROOT = Path(__file__).parents[3]


def wrong(lesson: Lesson) -> list[str]:
    return [f"{step.code}: {shown}" for step, shown in lesson.run() if not lesson.matches(step, shown)]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.term)
def test_every_example_shows_what_is_printed(lesson):
    assert len(lesson.steps) >= 2
    assert any(step.shown for step in lesson.steps)
    assert wrong(lesson) == []


def test_a_result_that_is_not_that_of_its_call_is_noticed():
    lesson = next(one for one in LESSONS if one.term == "Laplace mechanism")
    assert wrong(replace(lesson, example=lesson.example.replace("Fraction(10, 1)", "Fraction(11, 1)")))


def test_every_exhibit_is_in_the_museum():
    assert {lesson.exhibit for lesson in LESSONS if lesson.exhibit} <= {exhibit.name for exhibit in EXHIBITS}


# What the usual lecture notes have; each must be found by its own name.
TERMS = """\
neighbouring databases; differencing attack; Laplace; accuracy; most common name; noisy max; exponential mechanism;
name-and-shame; Gaussian; good and bad sets; local sensitivity; smooth sensitivity; A^(k); smooth noises;
Dist2Instability; instability; propose-test-release; private bound; triangles; MST; reciprocal; regression;
prediction error; basic composition; sequential composition; parallel composition; advanced composition; inverse;
KL; max divergence; approximate max divergence; statistical distance; composition lemma; Azuma"""


@pytest.mark.parametrize("term", [term.strip() for term in TERMS.replace("\n", " ").split(";")])
def test_every_term_leads_somewhere(term):
    assert any(term.casefold() in name.casefold() for lesson in found(term) for name in (lesson.term, *lesson.also))


def test_a_word_of_the_text_is_found_where_no_term_has_it():
    assert [lesson.term for lesson in found("shy")] == []
    assert "Linear regression" in [lesson.term for lesson in found("yardstick")]


def test_the_page_is_that_of_the_lessons():
    spec = importlib.util.spec_from_file_location("textbook_page", ROOT / "tools" / "textbook_page.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run: python tools/textbook_page.py"
    headings = {tool.anchor(line.lstrip("# ")) for line in tool.page().splitlines() if line.startswith("#")}
    assert {tool.anchor(lesson.term) for lesson in LESSONS} <= headings
    museum = (ROOT / "docs" / "evidence" / "museum.md").read_text(encoding="utf-8")
    anchors = {tool.anchor(line.lstrip("# ")) for line in museum.splitlines() if line.startswith("###")}
    assert {tool.anchor(lesson.exhibit) for lesson in LESSONS if lesson.exhibit} <= anchors


def test_the_notebook_is_one_and_runs():
    document = json.loads(notebook())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    cells = document["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        needed = {"id", "cell_type", "metadata", "source"}
        assert set(cell) == needed | ({"outputs", "execution_count"} if cell["cell_type"] == "code" else set())
        assert "".join(cell["source"]).strip()
    words = "".join(line for cell in cells if cell["cell_type"] == "markdown" for line in cell["source"])
    assert all(f"### {lesson.term}" in words for lesson in LESSONS)
    assert all(f"## {chapter}" in words for chapter in CHAPTERS)
    namespace: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), namespace)


def test_the_tour_shows_results_notes_and_figures_of_the_museum():
    lesson = next(one for one in LESSONS if one.term == "Gaussian mechanism")
    text = "\n".join(lines(lesson))
    assert ">>> round(float(dt.Gaussian(**price).scale), 4)\n4.2247" in text
    assert "In print: Both formulas are loose" in text
    assert "Claimed 1e-05, found 0.0009697" in " ".join(text.split())
