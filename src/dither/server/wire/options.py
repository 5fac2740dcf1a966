"""What is set when a connection begins: by name, or as options of a command line, `-c dither.epsilon=0.5`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dither.server.wire.settings import OWN, Settings
from dither.server.wire.sqlstates import WireError

_NOT_SETTINGS = ("user", "database", "options", "replication")
_WORD = re.compile(r"(?:\\.|\S)+")


def stated_settings(settings: Settings, stated: Mapping[str, str]) -> None:
    """Set them; of what is not known here only dither's own names are refused, since clients send what they like."""
    if stated.get("replication", "false").lower() not in ("false", "off", "no", "0"):
        raise WireError("0A000", "there is no replication here.")
    named = {name: value for name, value in stated.items() if name not in _NOT_SETTINGS}
    for name, value in {**_options(stated.get("options", "")), **named}.items():
        _set(settings, name.lower(), value)
    settings.keep()


def _set(settings: Settings, name: str, value: str) -> None:
    try:
        settings.set(name, value)
    except WireError:
        if name in OWN or name.startswith("dither.") or name == "client_encoding":
            raise


def _options(text: str) -> dict[str, str]:
    """The settings of `-c name=value`, `-cname=value` and `--name=value`."""
    words = [re.sub(r"\\(.)", r"\1", word) for word in _WORD.findall(text)]
    found, place = {}, 0
    while place < len(words):
        word = words[place]
        place += 1
        if word == "-c" and place < len(words):
            word, place = words[place], place + 1
        elif word.startswith("-c"):
            word = word[2:]
        elif word.startswith("--"):
            word = word[2:].replace("-", "_")
        else:
            raise WireError("42601", "options are written -c name=value.")
        name, equals, value = word.partition("=")
        if not equals:
            raise WireError("42601", "options are written -c name=value.")
        found[name] = value
    return found
