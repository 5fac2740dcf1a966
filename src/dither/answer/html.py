"""An answer as an HTML table for notebooks; every name and label is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.answer.cells import Cell, cells
from dither.answer.columns import Key
from dither.answer.text import MOST_ROWS, footer
from dither.escape import markup, shortened
from dither.exact.digits import counted

if TYPE_CHECKING:
    from dither.answer.answer import Answer

_MUTED = "color:#888"


def table_html(answer: Answer, most_rows: int = MOST_ROWS) -> str:
    """The first rows as a table, digits that the noise reaches in grey; under it price, guarantee and notes."""
    rows = min(len(answer), most_rows)
    is_key = [isinstance(column, Key) for column in answer.columns]
    names = [
        f'<th style="{_align(key)}">{markup(shortened(name))}</th>'
        for name, key in zip(answer.names, is_key, strict=True)
    ]
    limited, words = answer.limited is not None, len(answer) == 1
    columns = [cells(column, rows, limited=limited, words=words) for column in answer.columns]
    lines = [
        "".join(_cell(cell, key) for cell, key in zip(row, is_key, strict=True)) for row in zip(*columns, strict=True)
    ]
    hidden = len(answer) - rows
    more = f'<div style="{_MUTED}">... {counted(hidden, "more row")}</div>' if hidden else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    below = "".join(f"<div>{markup(line)}</div>" for line in footer(answer))
    return f'<div><table><tr>{"".join(names)}</tr>{body}</table>{more}<small style="{_MUTED}">{below}</small></div>'


def _cell(cell: Cell, is_key: bool) -> str:
    beside = markup(cell.beside or f"± {cell.error}")
    error = f' <span style="{_MUTED}">{beside}</span>' if cell.error else ""
    sure = cell.sure if cell.error else len(cell.text)
    noise = f'<span style="{_MUTED}">{markup(cell.text[sure:])}</span>' if sure < len(cell.text) else ""
    return f'<td style="{_align(is_key)}">{markup(cell.text[:sure])}{noise}{error}</td>'


def _align(is_key: bool) -> str:
    return f"text-align:{'left' if is_key else 'right'}"
