"""Column declarations on the command line: NAME=KIND:ARGUMENTS, and " default VALUE" for a column without NULLs.

>>> column("age=int:0:105")
('age', Int(0, 105))
>>> column("region=category:north,south default north")[1].nullable
False
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from dither.errors import DitherError, OutsideDeclared, PolicyError
from dither.policy.columns import KINDS, Category, Column, column_from

SYNTAX = """\
column declarations, one --column each (values that do not fit become NULL):
  age=int:0:105                          whole numbers, clamped to the bounds
  fee=fixed:0:500:2                      decimal numbers with 2 decimals
  member=bool                            true or false
  day=date:2023-01-01:2024-12-31         days
  seen=timestamp:2023-01-01/2024-12-31   instants, to the microsecond, in UTC
  region=category:north,south            one of these labels, in this order
  region=category:@regions.txt           labels from a file, one a line
  note=text    note=text:200             free text (of at most 200 characters)
  "age=int:0:105 default 0"              no NULLs: what does not fit becomes 0
  "seen[Visit Date]=date:..."            from a column that the file calls Visit Date
--columns FILE reads declarations from a JSON object instead, such as
  {"age": {"kind": "int", "lower": 0, "upper": 105}}"""

_NAMED = re.compile(r"([^=\[]+)(?:\[(.+?)\])?=(.*)", re.DOTALL)  # NAME=..., or NAME[NAME IN THE SOURCE]=...


def column(text: str) -> tuple[str, Column]:
    """The name and declaration that one --column states."""
    found = _NAMED.fullmatch(text)
    if found is None:
        raise PolicyError(f"a column is declared as NAME=KIND:ARGUMENTS, such as age=int:0:105; got {text!r}.")
    name, source, stated = found.groups()
    stated, has_default, default = stated.rpartition(" default ") if " default " in stated else (stated, "", "")
    kind, _, arguments = stated.partition(":")
    if kind not in KINDS:
        raise PolicyError(f"column {name!r}: unknown kind {kind!r}; known are {', '.join(KINDS)}.")
    with _naming(name, stated):
        rest: dict[str, Any] = {"nullable": False, "default": _default(kind, default)} if has_default else {}
        rest |= {} if source is None else {"source": source}
        return name, KINDS[kind](**_read(kind, arguments, f"{name}={kind}:"), **rest)


@contextmanager
def _naming(name: str, stated: str) -> Iterator[None]:
    """An error names its column, and quotes the declaration as it was stated."""
    try:
        yield
    except OutsideDeclared as error:
        raise PolicyError(f"column {name!r}: {OutsideDeclared(error.value, stated)}") from None
    except DitherError as error:
        raise PolicyError(f"column {name!r}: {error}") from None


def columns(declared: Iterable[str], file: Path | None) -> dict[str, Column]:
    """All declarations of a table; a name that comes twice is refused."""
    read = _from_file(file) if file is not None else {}
    for text in declared:
        name, declaration = column(text)
        if name in read:
            raise PolicyError(f"column {name!r} is declared twice.")
        read[name] = declaration
    return read


def _from_file(file: Path) -> dict[str, Column]:
    try:
        stated = json.loads(file.read_text(encoding="utf-8"))
        return {name: _from_json(name, declaration) for name, declaration in stated.items()}
    except OSError as error:
        raise PolicyError(f"{file} cannot be read: {error.strerror}.") from None
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        if isinstance(error, DitherError):
            raise
        raise PolicyError(f"{file} does not hold a JSON object of column declarations; see --help.") from None


def _from_json(name: str, declaration: dict[str, Any]) -> Column:
    with _naming(name, json.dumps(declaration)):
        return column_from(declaration)


def _read(kind: str, arguments: str, start: str) -> dict[str, Any]:
    """The fields that the arguments of a kind state."""
    family = KINDS[kind]
    if family is Category:
        return {"values": _labels(arguments)}
    if not arguments and not family.stated:
        return {}
    names = family.stated or family.optional
    if not names:
        raise PolicyError(f"a {kind} has no arguments; got {arguments!r}.")
    parts = arguments.split(family.separator)
    if len(parts) != len(names) or not all(parts):
        form = family.separator.join(names).upper()
        raise PolicyError(f"declare it as {start}{form}; got {start}{arguments}".removesuffix(":") + ".")
    numbers = {one.name for one in fields(family) if one.type == "int"}
    return {name: _whole(part) if name in numbers else part for name, part in zip(names, parts, strict=True)}


def _labels(arguments: str) -> tuple[str, ...]:
    if not arguments.startswith("@"):
        return tuple(arguments.split(",")) if arguments else ()
    try:
        return Category.read(arguments[1:]).values
    except (OSError, UnicodeDecodeError):
        raise PolicyError(f"{arguments[1:]} cannot be read as UTF-8 text.") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise PolicyError(f"{text!r} is not a whole number.") from None


def _default(kind: str, text: str) -> Any:
    if kind == "int":
        return _whole(text)
    if kind == "bool":
        if text not in ("true", "false"):
            raise PolicyError(f"the default of a bool is true or false; got {text!r}.")
        return text == "true"
    return text
