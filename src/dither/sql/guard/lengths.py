"""How many characters every text can have, derived anew from the declared columns for the guard.

It shares no code with the lengths that expressions carry: those plan, these judge. A column computed by a derived table
has the length that was derived for it there, so no nesting of tables makes a text longer than is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.sql import expressions as e
from dither.sql.guard.refusals import Schema, UnsafePlan


def longest(node: e.Expression, schema: Schema) -> int:
    """The most characters that a text can have on any row; more than `LONGEST` are refused at every step."""
    rule = LENGTHS.get(type(node))
    if rule is None:
        raise UnsafePlan(f"the expression {type(node).__name__} is no text that is known to be safe.")
    length = rule(node, schema)
    if not 0 <= length <= e.LONGEST:
        raise UnsafePlan(f"a text may have more than {e.LONGEST} characters.")
    return length


def _stored(node: e.StoredText, schema: Schema) -> int:
    if schema.get(node.name) != node:
        raise UnsafePlan(f"the plan misstates the text column {node.name!r}, or there is none.")
    return node.max_length


def _longest_of(values: tuple[e.Textual, ...], schema: Schema) -> int:
    return max(longest(value, schema) for value in values)


def _case(node: e.TextCase, schema: Schema) -> int:
    if len(node.conditions) != len(node.values) or not node.values:
        raise UnsafePlan("a CASE needs one value for each condition.")
    return _longest_of((*node.values, node.otherwise), schema)


def _coalesce(node: e.TextCoalesce, schema: Schema) -> int:
    if not node.values:
        raise UnsafePlan("COALESCE needs a value.")
    return _longest_of(node.values, schema)


def _substring(node: e.Substring, schema: Schema) -> int:
    if not (node.start >= 1 and node.length >= 0):
        raise UnsafePlan("a substring starts at 1 or later and is not shorter than nothing.")
    return max(0, min(node.length, longest(node.value, schema) - (node.start - 1)))


def _ending(node: e.Ending, schema: Schema) -> int:
    if not node.length >= 0:
        raise UnsafePlan("the end of a text is not shorter than nothing.")
    return min(node.length, longest(node.value, schema))


def _split_part(node: e.SplitPart, schema: Schema) -> int:
    if not (node.separator and node.place >= 1):
        raise UnsafePlan("a text is split at a separator, and its parts are counted from 1.")
    return longest(node.value, schema)


def _letters(node: e.Letters, schema: Schema) -> int:
    if node.case not in ("lower", "upper"):
        raise UnsafePlan("letters are in lower or in upper case.")
    return longest(node.value, schema)  # each character becomes one


LENGTHS: dict[type[e.Expression], Callable[[Any, Schema], int]] = {
    e.StoredText: _stored,
    e.TextConstant: lambda node, schema: len(node.value),
    e.TextNull: lambda node, schema: 0,
    e.TextCase: _case,
    e.TextCoalesce: _coalesce,
    e.Joined: lambda node, schema: sum(longest(value, schema) for value in node.values),
    e.Substring: _substring,
    e.Ending: _ending,
    e.SplitPart: _split_part,
    e.Trim: lambda node, schema: longest(node.value, schema),
    e.Letters: _letters,
}
