"""The page of the textbook's words, written from the lessons themselves.

python tools/textbook_page.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from dither.lab.textbook.catalogue import CHAPTERS, LESSONS
from dither.lab.textbook.lesson import Lesson

PAGE = Path(__file__).resolve().parents[1] / "docs" / "toolbox" / "textbook.md"

HEAD = """# The textbook's words

Each term, formula and example of the usual lecture notes on differential privacy, with the call that does it, its
result, and where the printed formula is loose or wrong. Results are those of the calls above them; "..." stands for
noise. `dither learn` is the same as a tour in the terminal, `dither learn --notebook lessons.ipynb` as a notebook.

This page is written from the lessons by `python tools/textbook_page.py`.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD, *_index()]
    for name, lessons in CHAPTERS.items():
        parts += [f"## {name}\n", *(part for lesson in lessons for part in _lesson(lesson))]
    return "\n".join(parts)


def _index() -> Iterator[str]:
    names = {name: lesson.term for lesson in LESSONS for name in (lesson.term, *lesson.also)}
    listed = ", ".join(f"[{name}](#{anchor(names[name])})" for name in sorted(names, key=str.casefold))
    yield fill(listed, 140, break_long_words=False, break_on_hyphens=False) + "\n"


def anchor(term: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", term.lower()).replace(" ", "-")


def _lesson(lesson: Lesson) -> Iterator[str]:
    yield f"### {lesson.term}\n"
    if lesson.also:
        yield f"*Also: {', '.join(lesson.also)}.*\n"
    yield _wrapped(lesson.text) + "\n"
    yield "\n".join(["```python", *_code(lesson), "```\n"])
    if lesson.notes:
        yield _wrapped(f"**In print:** {lesson.notes}") + "\n"
    if lesson.exhibit:
        link = f"../evidence/museum.md#{anchor(lesson.exhibit)}"
        yield f"In the museum: [{lesson.exhibit}]({link}).\n"


def _code(lesson: Lesson) -> Iterator[str]:
    """The statements with their results as comments, spaced as the formatter does."""
    before = ""
    for step in lesson.steps:
        kind = "import" if step.code.startswith(("import ", "from ")) else "def" if step.code.startswith("def ") else ""
        if before == "import" != kind:
            yield ""
        if "def" in (before, kind):
            yield from [""] * (1 if before == "import" else 2)
        yield step.code
        yield from (f"# {line}" for line in step.shown.splitlines())
        before = kind


def _wrapped(text: str) -> str:
    return fill(text, 140, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit(0)
