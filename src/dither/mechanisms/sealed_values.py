"""Raw aggregates, sealed: what is not noisy yet cannot be shown, compared, copied or written anywhere by accident."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

_SEALED = "an exact aggregate is sealed: only a mechanism may open it"


class Exact:
    """Whole numbers that only a mechanism's release can read. Its size is public, everything else refuses.

    This guards against mistakes and against logs and traces, not against hostile code in the same process.
    """

    __slots__ = ("_Exact__values", "size")

    size: int | None  # None for a single number

    def __init__(self, values: int | npt.NDArray[Any]) -> None:
        size = None if isinstance(values, int) else int(values.size)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "_Exact__values", values)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(_SEALED)

    __repr__ = __str__ = __format__ = __bytes__ = _refuse
    __iter__ = __len__ = __getitem__ = __contains__ = __reversed__ = _refuse
    __reduce__ = __reduce_ex__ = __getstate__ = __setstate__ = __copy__ = __deepcopy__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __bool__ = __int__ = __float__ = __complex__ = __index__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refuse
    __array__ = __array_ufunc__ = __array_function__ = __buffer__ = __dir__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __divmod__ = __rdivmod__ = _refuse
    __neg__ = __pos__ = __abs__ = __invert__ = __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _refuse
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __matmul__ = __rmatmul__ = _refuse
    __setattr__ = __delattr__ = _refuse


class SealedTable(Exact):
    """The result of a query whose very shape is private: not even its size shows."""

    __slots__ = ()

    def __init__(self, content: Any) -> None:
        object.__setattr__(self, "size", None)
        object.__setattr__(self, "_Exact__values", content)


def seal(values: int | Sequence[int] | npt.NDArray[Any]) -> Exact:
    """Seal whole numbers, counted in a mechanism's grid steps. The caller's own reference should be dropped.

    >>> seal([3, 4]).size
    2
    """
    from dither.mechanisms.values import whole_steps

    return Exact(whole_steps(values))


def _unseal(sealed: Exact) -> int | npt.NDArray[Any]:
    """The numbers inside; for a mechanism's release and nobody else."""
    values: int | np.ndarray[Any, Any] = object.__getattribute__(sealed, "_Exact__values")
    return values
