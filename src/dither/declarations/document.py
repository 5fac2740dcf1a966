"""A policy file as plain values. Decimal numbers stay exact, and a name that comes twice is refused."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from dither.errors import PolicyError


def read_document(path: Path) -> dict[str, Any]:
    """What the file holds; .toml is TOML, .yaml and .yml are YAML."""
    readers = {".toml": _toml, ".yaml": _yaml, ".yml": _yaml}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise PolicyError(f"{path} is neither .toml nor .yaml; name a policy file by what it holds.")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path} is not UTF-8 text.") from None
    read = reader(text, path)
    if not isinstance(read, dict):
        raise PolicyError(f"{path} holds no declarations; it needs people and tables.")
    return read


def _toml(text: str, path: Path) -> Any:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path} is not TOML: {error}.") from None


def _yaml(text: str, path: Path) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Plain values only; a number with a point is kept as it is written."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: set[str] = set()
            for key, _ in node.value:
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} comes twice", key.start_mark)
                seen.add(key.value)
            made: dict[Any, Any] = super().construct_mapping(node, deep)
            return made

    Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: node.value)
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise PolicyError(f"{path} is not YAML: {getattr(error, 'problem', None) or error}{where}.") from None
