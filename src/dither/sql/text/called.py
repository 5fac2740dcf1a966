"""Where functions stand whose arguments the parser reads by rules of their own: it notes that of all others only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

Rule = Callable[[Any], Any]


def placed(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """The same rules, with the word before the parenthesis noted as the place and name of what they read."""
    return {name: _placed(rule) for name, rule in rules.items()}


def _placed(rule: Rule) -> Rule:
    def read(parser: Any) -> Any:
        word = parser._tokens[parser._index - 2]
        found = rule(parser)
        if isinstance(found, exp.Func) and "start" not in found.meta:
            found.update_positions(word)
        return found

    return read
