"""Everything in the museum, room by room. A new exhibit joins its room's list."""

from __future__ import annotations

from dither.audit.museum import (
    accountants,
    books,
    floats,
    gaussians,
    keys,
    local,
    plans,
    randomness,
    relations,
    scales,
    selection,
    smooth,
    sparse,
    tested,
)
from dither.audit.museum.exhibit import AnyExhibit

ROOMS: dict[str, tuple[AnyExhibit, ...]] = {
    "Floating point": floats.EXHIBITS,
    "Randomness": randomness.EXHIBITS,
    "The size of the noise": scales.EXHIBITS,
    "Local and smooth sensitivity": (*local.EXHIBITS, *smooth.EXHIBITS),
    "Tests of stability": tested.EXHIBITS,
    "Choosing by scores": selection.EXHIBITS,
    "Sparse vectors": sparse.EXHIBITS,
    "Group keys": keys.EXHIBITS,
    "Theorems out of place": relations.EXHIBITS,
    "Gaussian noise": gaussians.EXHIBITS,
    "Accountants": accountants.EXHIBITS,
    "Query plans": plans.EXHIBITS,
    "Books": books.EXHIBITS,
}
EXHIBITS: tuple[AnyExhibit, ...] = tuple(exhibit for room in ROOMS.values() for exhibit in room)
