"""REFUSED: the answer of a mechanism that tested the data and published nothing."""

from __future__ import annotations

from typing import Any, Final, NoReturn, final


@final
class Refused:
    """The type of `REFUSED`. There is one value of it; compare with `is`.

    A refusal is an answer like any other: it was paid for, and it is as private as a number would have been. It has no
    truth value, so that a refusal is never mistaken for a 0 or for a missing answer.

    >>> REFUSED
    REFUSED
    """

    __slots__ = ()
    _only: Refused | None = None

    def __new__(cls) -> Refused:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "REFUSED"

    def __bool__(self) -> NoReturn:
        raise TypeError("REFUSED has no truth value; ask `answer.value is REFUSED`.")

    def __copy__(self) -> Refused:
        return self

    def __deepcopy__(self, _: Any) -> Refused:
        return self

    def __reduce__(self) -> str:
        return "REFUSED"


REFUSED: Final = Refused()
# What stands for it among whole numbers, where many releases are drawn at once.
REFUSED_CODE: Final = -(1 << 62)
