"""Drawing from whatever is audited: a function of data and a size, a function of data, or a mechanism of dither."""

from __future__ import annotations

import inspect
from typing import Any

from dither.errors import ParameterError
from dither.lab.audit.draws.releases import releases
from dither.lab.audit.draws.samplers import Sampler


def sampler_of(mechanism: Any, *, vectorised: bool | None = None) -> Sampler:
    """How to draw many outputs.

    A mechanism of dither is asked to release; a callable with two required arguments, or one named `size`, is given
    the size; any other callable is called once for each output.
    """
    if hasattr(mechanism, "guarantee") and not inspect.isroutine(mechanism):
        return releases(mechanism)
    if not callable(mechanism):
        raise ParameterError(
            f"a mechanism is a function of (data, size) or of (data), or an object with release; "
            f"got {type(mechanism).__name__}."
        )
    if _takes_size(mechanism) if vectorised is None else vectorised:
        return lambda data, size: mechanism(data, size)
    return lambda data, size: [mechanism(data) for _ in range(size)]


def _takes_size(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C do not say
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in parameters.values() if one.kind in kinds and one.default is inspect.Parameter.empty]
    return "size" in parameters or len(needed) >= 2
