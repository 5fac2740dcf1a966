"""Results kept for the very objects that they were computed from: plans do not change, and are looked at many times.

Objects are told apart by identity, not by equality, which costs as much as many of these computations. Memory is
bounded: when it is full, all of it is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

_Result = TypeVar("_Result")


def remembered(most: int) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Remember a pure function's last results by the identity of its first argument, which never changes.

    All other arguments are compared; a call that raises is not remembered.
    """

    def around(function: Callable[..., _Result]) -> Callable[..., _Result]:
        known: dict[Hashable, tuple[object, _Result]] = {}

        @wraps(function)
        def ask(first: Any, *others: Any, **named: Any) -> _Result:
            key = (id(first), others, tuple(named.items()))
            found = known.get(key)
            if found is not None and found[0] is first:  # kept beside its result, so that no other can have its id
                return found[1]
            result = function(first, *others, **named)
            if len(known) >= most:
                known.clear()
            known[key] = (first, result)
            return result

        return ask

    return around
