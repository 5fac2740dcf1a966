"""YAML as it is written: plain values, no aliases, no tags, no guesses about what a text may mean.

YAML's own rules read 1:30 as 90, 010 as 8 and no as false. Here a plain word is a number only if it is one in decimal
digits, true and false are the booleans, null, ~ and nothing are missing, and everything else is text. What YAML would
read as another number is refused, so that nobody is surprised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NoReturn

from dither.curator.policy_files.toml_text import LONGEST_WORD, MOST_LEVELS
from dither.errors import PolicyError

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
# Also octal, hexadecimal, binary, with underscores or leading zeros: numbers to some readers of YAML only.
_NUMBER = re.compile(
    r"[-+]?(?:0x[0-9a-fA-F_]+|0[ob][0-7_]+|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?)"
)
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_yaml(text: str) -> Any:
    """The value of a text: names with values, lists, and plain values."""
    import yaml

    try:
        return _document(yaml.parse(text, yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise PolicyError(f"{getattr(error, 'problem', None) or error}{where}.") from None


def _document(events: Iterator[Any]) -> Any:
    import yaml

    found: list[Any] = []
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            if found:
                _wrong(event, "it holds several documents; give one")
            found.append(_value(event, events, 0))
    return found[0] if found else None


def _value(event: Any, events: Iterator[Any], depth: int) -> Any:
    """The value that begins with an event; the events that follow are taken as far as it goes."""
    import yaml

    if event.anchor is not None:
        _wrong(event, "anchors (&) and aliases (*) are not read; write the value where it is needed")
    if event.tag not in (None, "!"):
        _wrong(event, f"the tag {event.tag[:LONGEST_WORD]!r} is not read; write plain values")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if depth >= MOST_LEVELS:
        _wrong(event, f"nested deeper than {MOST_LEVELS} levels")
    if isinstance(event, yaml.SequenceStartEvent):
        return [_value(inner, events, depth + 1) for inner in _until(events, yaml.SequenceEndEvent)]
    made: dict[Any, Any] = {}
    for inner in _until(events, yaml.MappingEndEvent):
        if not isinstance(inner, yaml.ScalarEvent):
            _wrong(inner, "names are text, not lists or tables")
        name = _value(inner, events, depth + 1)
        if name in made:
            _wrong(inner, f"{name!r} comes twice")
        made[name] = _value(next(events), events, depth + 1)
    return made


def _until(events: Iterator[Any], end: type) -> Iterator[Any]:
    for event in events:
        if isinstance(event, end):
            return
        yield event


def _scalar(event: Any) -> Any:
    """Text in quotation marks is text; a plain word is what it looks like."""
    text: str = event.value
    if event.style is not None:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or not _NUMBER.fullmatch(text):
        return text
    if len(text) > LONGEST_WORD:
        _wrong(event, f"a number of {len(text):,} characters; at most {LONGEST_WORD}")
    if _INTEGER.fullmatch(text):
        return int(text)
    if not _DECIMAL.fullmatch(text):
        _wrong(
            event, f"{text} is not the same number to all readers of YAML; write it in decimal, or in quotation marks"
        )
    return Decimal(text)


def _wrong(event: Any, what: str) -> NoReturn:
    mark = event.start_mark
    raise PolicyError(f"{what} (line {mark.line + 1}, column {mark.column + 1}).")
