"""An answer as a text table: each value with its error, then price, confidence and notes."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from dither.answer.cells import Cell, cells
from dither.answer.columns import Key, Value
from dither.answer.coverage import claim, lines
from dither.answer.intervals import ends
from dither.escape import shortened
from dither.exact.digits import counted

if TYPE_CHECKING:
    from dither.answer.answer import Answer

Marks = Literal["none", "brackets", "dim"]

MOST_ROWS = 32
_GAP = "   "
_LONGEST_NOTE = 2000
_DIM, _PLAIN = "\x1b[2m", "\x1b[22m"


def table_text(answer: Answer, most_rows: int = MOST_ROWS, *, details: bool = True, marks: Marks | None = None) -> str:
    """The first rows as an aligned table, and under it the price; with `details`, how far they can be trusted too."""
    rows = min(len(answer), most_rows)
    mark = _MARKS[marks or "none"]
    shown = {"limited": answer.limited is not None, "words": len(answer) == 1}
    blocks = [
        _block(column.name, cells(column, rows, **shown), isinstance(column, Key), mark) for column in answer.columns
    ]
    head, *body = (_GAP.join(line).rstrip() for line in zip(*blocks, strict=True))
    rule = "─" * max(map(_width, (head, *body)))
    hidden = len(answer) - rows
    all_of_it = f"... {counted(hidden, 'more row')}; to_text(rows={len(answer)}) shows all"
    more = [all_of_it] if hidden else [] if len(answer) else ["no rows"]
    below = [price_line(answer)]
    if details:
        below = [*footer(answer), *(["digits that the noise reaches are " + _SAID[marks]] if marks in _SAID else [])]
    return "\n".join([head, rule, *body, *more, "", *below])


def footer(answer: Answer) -> Iterator[str]:
    """Price, guarantee, confidence and notes, a line each."""
    return (shortened(line, _LONGEST_NOTE) for line in _footer(answer))


def _footer(answer: Answer) -> Iterator[str]:
    yield price_line(answer)
    if answer.guarantee:
        yield f"guarantee: {answer.guarantee}"
    values = [column for column in answer.columns if isinstance(column, Value)]
    if any(ends(column) is not None for column in values):
        yield f"{claim(answer)}; digits below it are not shown"
    yield from lines(answer)
    if any(column.uninformative().any() for column in values):
        yield "no information: the interval is all of the declared range, as in a group with hardly any rows"
    if any(unbounded(column) for column in values if column.noise is None):
        yield "± ?: no bound can be given, as where the noise allows a divisor of zero"
    if any(column.is_float and np.isnan(column.values).any() for column in values):
        yield "unknown: not defined for these noisy numbers, as a division by zero; NULL in other forms of the answer"
    for note in answer.notes:
        yield f"note: {note}"


def unbounded(column: Value) -> bool:
    """Whether some cell has a value but no interval on one side."""
    found = [end for end in (column.lower, column.upper) if end is not None and end.dtype == np.float64]
    known = np.isfinite(column.values) if column.is_float else np.ones(len(column), dtype=bool)
    return any(bool((np.isinf(end) & known).any()) for end in found)


def price(answer: Answer) -> str:
    """What the answer cost."""
    in_order = sorted(answer.price.items(), key=lambda item: item[0] == "delta")
    return "price: " + ", ".join(f"{name} {amount}" for name, amount in in_order)


def price_line(answer: Answer) -> str:
    """What was paid for the answer, now or before."""
    return price(answer) if answer.charged else f"{price(answer)} (paid before; nothing was charged now)"


def _block(name: str, column: Sequence[Cell], is_key: bool, mark: Callable[[str, int], str]) -> list[str]:
    """A column as lines of one width: keys to the left, numbers to the right, errors under each other."""
    name = shortened(name)
    texts = [mark(cell.text, cell.sure) if cell.error else cell.text for cell in column]
    number = max((_width(text) for text, cell in zip(texts, column, strict=True) if cell.error), default=0)
    error = max((_width(cell.error) for cell in column), default=0)
    written = [
        f"{_right(text, number)} {cell.beside or f'± {_right(cell.error, error)}'}" if cell.error else text
        for text, cell in zip(texts, column, strict=True)
    ]
    width = max(map(_width, (name, *written)))
    align = _left if is_key else _right
    return [align(line, width) for line in (name, *written)]


def _brackets(text: str, sure: int) -> str:
    return text if sure == len(text) else f"{text[:sure]}({text[sure:]})"


def _dim(text: str, sure: int) -> str:
    return text if sure == len(text) else f"{text[:sure]}{_DIM}{text[sure:]}{_PLAIN}"


_MARKS: dict[Marks, Callable[[str, int], str]] = {"none": lambda text, sure: text, "brackets": _brackets, "dim": _dim}
_SAID: dict[Marks | None, str] = {"brackets": "in brackets", "dim": "dimmed"}


def _width(text: str) -> int:
    """Columns a terminal needs: wide characters take two, combining ones and our own dimming none."""
    text = text.replace(_DIM, "").replace(_PLAIN, "")
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _left(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _right(text: str, width: int) -> str:
    return " " * (width - _width(text)) + text
