"""Everything in the museum, room by room. A new exhibit joins its room's list."""

from __future__ import annotations

from dither.audit.museum import floats, keys, randomness, scales, selection, sparse
from dither.audit.museum.exhibit import AnyExhibit

EXHIBITS: tuple[AnyExhibit, ...] = (
    *floats.EXHIBITS,
    *randomness.EXHIBITS,
    *scales.EXHIBITS,
    *keys.EXHIBITS,
    *selection.EXHIBITS,
    *sparse.EXHIBITS,
)
