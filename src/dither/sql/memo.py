"""Results kept with the very objects that they were computed from: plans do not change, and are looked at many times.

There is no memory but that of the object. What was computed for a question lives as long as the question is remembered
of whoever asked it (`Readings`), takes no room from others, and shows in nobody else's time. Objects are told apart by
identity, not by equality, which costs as much as many of these computations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from itertools import count
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_NUMBERS = count()

MOST = 16  # results of one function for one object, for different other arguments; then all of them are forgotten


def remembered(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Remember a pure function's results in its first argument, which never changes; a tuple's, in its first part.

    All other arguments are compared; a call that raises is not remembered.
    """
    place = f"remembered {next(_NUMBERS)}"  # no attribute can have this name, and no two functions the same

    @wraps(function)
    def ask(first: Any, *others: Any, **named: Any) -> _Result:
        holder = first[0] if isinstance(first, tuple) else first
        whole = None if holder is first else first  # kept beside its result, so that no other tuple can have its id
        known: dict[Hashable, tuple[object, _Result]] = holder.__dict__.setdefault(place, {})
        key = (id(whole), others, tuple(named.items()))
        found = known.get(key)
        if found is not None and found[0] is whole:
            return found[1]
        result = function(first, *others, **named)
        if len(known) >= MOST:
            known.clear()
        known[key] = (whole, result)
        return result

    return ask
