"""Text and other public values of group keys, as codes into a short list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.sql.postprocess.formulas.estimate import Estimate, floats
from dither.sql.postprocess.formulas.noisy_conditions import Verdict, certain

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Words:
    """One text a group: its place in `labels`, or -1 for NULL."""

    labels: tuple[str, ...]
    codes: NDArray[np.int64]

    def test(self, holds: Callable[[str], bool]) -> Verdict:
        """A condition on the text; NULL for NULL."""
        found = np.array([*map(holds, self.labels), False], dtype=bool)
        return certain(found[self.codes], self.codes < 0)


def from_key(values: pa.Array) -> Estimate | Words:
    """A key column as it can be computed with: numbers, days, microseconds and 0/1 as numbers, text as words."""
    if _is_text(values):
        return _words(values)
    numbers, null = _numbers(values), _null(values)
    decimals = getattr(values.type, "scale", 0)
    if not null.any():
        return Estimate(numbers, numbers, numbers, decimals, maybe_null=null)
    shown = numbers.astype(np.float64) / 10.0**decimals
    shown[null] = np.nan
    return floats(shown, shown, shown, null)


def sortable(values: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Whole numbers that sort as the keys do, text by code points; and where the key is NULL."""
    if not _is_text(values):
        return _numbers(values), _null(values)
    words = _words(values)
    order = {label: place for place, label in enumerate(sorted(set(words.labels)))}
    places = np.array([*(order[label] for label in words.labels), -1], dtype=np.int64)
    return places[words.codes], words.codes < 0


def _is_text(values: pa.Array) -> bool:
    import pyarrow as pa

    return any(test(values.type) for test in (pa.types.is_dictionary, pa.types.is_string, pa.types.is_large_string))


def _words(values: pa.Array) -> Words:
    import pyarrow as pa

    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    codes = coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Words(tuple(coded.dictionary.to_pylist()), np.asarray(codes, dtype=np.int64))


def _null(values: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def _numbers(values: pa.Array) -> NDArray[Any]:
    """Codes of a key, 0 for NULL."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return np.asarray(values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    if pa.types.is_date32(kind):
        return _numbers(values.cast(pa.int32()))
    if pa.types.is_timestamp(kind):
        return _numbers(values.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()))
    if pa.types.is_decimal(kind):
        codes = [0 if value is None else int(value.scaleb(kind.scale)) for value in values.to_pylist()]
        return np.array(codes, dtype=np.int64)
    raise ParameterError(f"keys of Arrow type {kind} cannot be compared or sorted.")
