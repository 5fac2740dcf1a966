"""What the codes in a stored answer stand for, as a digest: numbers are shown under the labels they were computed by.

Like keys, it is permanent: another form would refuse every answer that is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Protocol


class Labelled(Protocol):
    """A declaration by which codes are shown."""

    @property
    def kind(self) -> str: ...

    @property
    def nullable(self) -> bool: ...


_TOLD = ("low", "high", "decimals", "shown", "shown_decimals", "unit")


def labels_digest(declared: Iterable[Labelled]) -> str:
    """A digest of the declarations of an answer's keys, in their order, and of the values it chose."""
    return sha256(json.dumps([_stated(one) for one in declared]).encode()).hexdigest()


def _stated(declared: Labelled) -> dict[str, object]:
    told = {name: getattr(declared, name) for name in _TOLD if hasattr(declared, name)}
    values = getattr(declared, "values", ())
    listed = str(values) if isinstance(values, range) else list(values)
    return {"kind": declared.kind, "nullable": declared.nullable, **told, "values": listed}
