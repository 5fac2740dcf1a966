"""Everything in the museum, room by room. A new exhibit joins its room's list."""

from __future__ import annotations

from dither.lab.museum import (
    accountants,
    books,
    distance_tests,
    floats,
    gaussians,
    keys,
    local,
    memories,
    plans,
    randomness,
    relations,
    scales,
    selection,
    smooth_bounds,
    sparse_vectors,
)
from dither.lab.museum.exhibit import AnyExhibit

ROOMS: dict[str, tuple[AnyExhibit, ...]] = {
    "Floating point": floats.EXHIBITS,
    "Randomness": (*randomness.EXHIBITS, *memories.EXHIBITS),
    "The size of the noise": scales.EXHIBITS,
    "Local and smooth sensitivity": (*local.EXHIBITS, *smooth_bounds.EXHIBITS),
    "Tests of stability": distance_tests.EXHIBITS,
    "Choosing by scores": selection.EXHIBITS,
    "Sparse vectors": sparse_vectors.EXHIBITS,
    "Group keys": keys.EXHIBITS,
    "Theorems out of place": relations.EXHIBITS,
    "Gaussian noise": gaussians.EXHIBITS,
    "Accountants": accountants.EXHIBITS,
    "Query plans": plans.EXHIBITS,
    "Books": books.EXHIBITS,
}
EXHIBITS: tuple[AnyExhibit, ...] = tuple(exhibit for room in ROOMS.values() for exhibit in room)
