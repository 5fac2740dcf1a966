"""Text that others chose (labels, keys, names), made harmless where it leaves: terminals, pages, pictures, tables.

What cannot be seen can still act: escape sequences move a terminal's cursor, direction marks reorder what is read, a
cell that begins with = is computed by a spreadsheet, a control character is no XML. All of it is shown as a mark.
"""

from __future__ import annotations

import html
import json
from collections.abc import Hashable, Iterable
from typing import Any

MARK = "\N{REPLACEMENT CHARACTER}"
MOST_SHOWN = 200  # characters of a label in a table or a picture
# What spreadsheets take for the beginning of a formula; the last four are the same in full width.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def visible(text: object) -> str:
    """One line of printable characters: every other one is a mark.

    >>> visible("a\\x1b[2Jb\\n"), visible("\\u202etxt.exe")
    ('a�[2Jb�', '�txt.exe')
    """
    written = str(text)
    if written.isprintable():
        return written
    return "".join(character if character.isprintable() else MARK for character in written)


def visible_lines(text: object) -> str:
    """The same for several lines."""
    return "\n".join(map(visible, str(text).split("\n")))


def shortened(text: object, most: int = MOST_SHOWN) -> str:
    """At most so many visible characters, the last one an ellipsis where some are left out.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    written = str(text)
    return visible(written if len(written) <= most else written[: most - 1] + "…")


def markup(text: object) -> str:
    """Visible text that is no markup in HTML and XML.

    >>> markup("<b>\\x00")
    '&lt;b&gt;�'
    """
    return html.escape(visible(text))


def spreadsheet_cell(text: str) -> str:
    """Visible text that no spreadsheet takes for a formula: an apostrophe comes before what could be one.

    >>> spreadsheet_cell("=1+1"), spreadsheet_cell("a=1")
    ("'=1+1", 'a=1')
    """
    return ("'" if text.lstrip(" ").startswith(_FORMULA) else "") + visible(text)


def json_text(document: object, **options: Any) -> str:
    """JSON in which letters are themselves and what cannot be seen is written as its number, so that nothing is lost.

    >>> json_text({"ä": "\\x9b2J"})
    '{"ä": "\\\\u009b2J"}'
    """
    written = json.dumps(document, ensure_ascii=False, **options)
    return "\n".join(map(_numbered, written.split("\n")))


def _numbered(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def distinct_labels(labels: Iterable[Hashable]) -> dict[Any, str]:
    """A short visible text for each label, no two of them alike.

    >>> distinct_labels(["a\\x00", "a\\x01"])
    {'a\\x00': 'a�', 'a\\x01': 'a� (2)'}
    """
    shown: dict[Any, str] = {}
    taken: set[str] = set()
    repeats: dict[str, int] = {}
    for label in labels:
        if label in shown:
            continue
        text = first = shortened(label)
        while text in taken:
            repeats[first] = repeats.get(first, 1) + 1
            text = f"{first} ({repeats[first]})"
        taken.add(text)
        shown[label] = text
    return shown
