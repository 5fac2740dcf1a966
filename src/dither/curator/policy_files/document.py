"""A policy file as plain values: numbers exact as written, no name twice, bounded in size and nesting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dither.curator.policy_files.toml_text import read_toml
from dither.curator.policy_files.yaml_text import read_yaml
from dither.errors import PolicyError

MOST_BYTES = 256 * 1024  # long lists of labels have files of their own


def read_document(path: Path) -> dict[str, Any]:
    """What the file holds; .toml is TOML, .yaml and .yml are YAML."""
    readers = {".toml": ("TOML", read_toml), ".yaml": ("YAML", read_yaml), ".yml": ("YAML", read_yaml)}
    if path.suffix.lower() not in readers:
        raise PolicyError(f"{path} is neither .toml nor .yaml; name a policy file by what it holds.")
    form, reader = readers[path.suffix.lower()]
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path} is not UTF-8 text.") from None
    if len(content) > MOST_BYTES:
        raise PolicyError(
            f"{path} is longer than {MOST_BYTES:,} bytes; put long lists of labels into files, by labels_file."
        )
    try:
        read = reader(text.replace("\r\n", "\n"))
    except PolicyError as error:
        raise PolicyError(f"{path} is not {form}: {error}") from None
    if not isinstance(read, dict):
        raise PolicyError(f"{path} holds no declarations; it needs people and tables.")
    return read
