"""What draws many outputs at once, and how to make one of a release that gives a single one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

# data, size -> that many independent outputs
Sampler = Callable[[Any, int], Any]


def one_by_one(release: Callable[..., Any]) -> Sampler:
    """A release called once for each output; data are its arguments if it needs several."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [
        one
        for one in inspect.signature(release).parameters.values()
        if one.kind in kinds and one.default is inspect.Parameter.empty
    ]

    def draw(data: Any, size: int) -> list[Any]:
        arguments = tuple(data) if len(needed) > 1 else (data,)
        return [release(*arguments) for _ in range(size)]

    return draw
