"""An answer as a text table: each value with its error, then price, confidence and notes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dither.answer.cells import Cell, cells
from dither.answer.columns import Key, Value
from dither.digits import counted

if TYPE_CHECKING:
    from dither.answer.answer import Answer

MOST_ROWS = 24
_GAP = "   "


def table_text(answer: Answer, most_rows: int = MOST_ROWS, *, details: bool = True) -> str:
    """The first rows as an aligned table, and under it the price; with `details`, how far they can be trusted too."""
    rows = min(len(answer), most_rows)
    blocks = [_block(column.name, cells(column, rows), isinstance(column, Key)) for column in answer.columns]
    head, *body = (_GAP.join(line).rstrip() for line in zip(*blocks, strict=True))
    rule = "─" * max(map(_width, (head, *body)))
    hidden = len(answer) - rows
    more = [f"... {counted(hidden, 'more row')}"] if hidden else []
    return "\n".join([head, rule, *body, *more, "", *(footer(answer) if details else [price_line(answer)])])


def footer(answer: Answer) -> Iterator[str]:
    """Price, guarantee, confidence and notes, a line each."""
    yield price_line(answer)
    if answer.guarantee:
        yield f"guarantee: {answer.guarantee}"
    yield (
        f"± holds for each number by itself with probability {percent(float(answer.confidence))}; "
        "digits below it are not shown"
    )
    if any(isinstance(column, Value) and column.uninformative().any() for column in answer.columns):
        yield "no information: the noise allows every value of the declared range, as in a group with hardly any rows"
    for note in answer.notes:
        yield f"note: {note}"


def price_line(answer: Answer) -> str:
    """What was paid for the answer, now or before."""
    price = "price: " + ", ".join(f"{name} {amount}" for name, amount in answer.price.items())
    return price if answer.charged else f"{price} (paid before; nothing was charged now)"


def percent(probability: float) -> str:
    """A probability as a percentage, in as few digits as say it.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{probability * 100:.10g}%"


def _block(name: str, column: Sequence[Cell], is_key: bool) -> list[str]:
    """A column as lines of one width: keys to the left, numbers to the right, errors under each other."""
    number = max((_width(cell.text) for cell in column if cell.error), default=0)
    error = max((_width(cell.error) for cell in column), default=0)
    lines = [
        f"{_right(cell.text, number)} ± {_right(cell.error, error)}" if cell.error else cell.text for cell in column
    ]
    width = max(map(_width, (name, *lines)))
    align = _left if is_key else _right
    return [align(line, width) for line in (name, *lines)]


def _width(text: str) -> int:
    """Columns a terminal needs: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _left(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _right(text: str, width: int) -> str:
    return " " * (width - _width(text)) + text
