"""What a lesson is: a term of the lecture notes, the call that does it, and where the notes are loose or wrong."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """One statement of an example, and what it must print ("..." stands for what differs from run to run)."""

    code: str
    shown: str


@dataclass(frozen=True)
class Lesson:
    """A term, in a few sentences, with an example as at Python's prompt.

    `also`: other words for it. `notes`: where the formula that is usually printed is loose or wrong. `exhibit`: what in
    the bug museum comes of getting it wrong.
    """

    term: str
    text: str
    example: str
    also: tuple[str, ...] = ()
    notes: str = ""
    exhibit: str = ""

    @property
    def steps(self) -> list[Step]:
        parsed = doctest.DocTestParser().get_examples(self.example)
        return [Step(step.source.rstrip("\n"), step.want.rstrip("\n")) for step in parsed]

    def run(self) -> Iterator[tuple[Step, str]]:
        """Each step with what it really showed, as Python's prompt would."""
        namespace: dict[str, Any] = {}
        for step in self.steps:
            yield step, _shown(step.code, namespace)

    def matches(self, step: Step, shown: str) -> bool:
        """Whether a step showed what it must."""
        want = step.shown + "\n" if step.shown else ""
        return doctest.OutputChecker().check_output(want, shown + "\n" if shown else "", doctest.ELLIPSIS)


def _shown(code: str, namespace: dict[str, Any]) -> str:
    """What a statement prints or is."""
    import contextlib
    import io

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = eval(compile(code, "<lesson>", "eval"), namespace)
        except SyntaxError:
            exec(compile(code, "<lesson>", "exec"), namespace)
            result = None
    said = printed.getvalue().rstrip("\n")
    return said if result is None else f"{said}\n{result!r}".lstrip("\n")
