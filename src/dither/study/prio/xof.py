"""TurboSHAKE128 as the draft uses it: seeds are derived from seeds, and seeds become vectors of field elements."""

from __future__ import annotations

from dither.study.prio.fields import Field, Vector

SEED = 32  # bytes of a seed
VERSION = 18  # of the draft's algorithms: drafts 18 to 20 agree


def tag(algorithm: int, usage: int, context: bytes) -> bytes:
    """The domain separation tag of one use by a verifiable aggregation function, in the application's context."""
    return bytes((VERSION, 0)) + algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big") + context


class Xof:
    """A stream of pseudorandom bytes, bound to a seed, a tag and a binder."""

    def __init__(self, seed: bytes, tag: bytes, binder: bytes) -> None:
        from Crypto.Hash import TurboSHAKE128

        absorbed = len(tag).to_bytes(2, "little") + tag + len(seed).to_bytes(1, "little") + seed + binder
        self._stream = TurboSHAKE128.new(domain=1, data=absorbed)

    def seed(self) -> bytes:
        return bytes(self._stream.read(SEED))

    def vector(self, field: Field, length: int) -> Vector:
        """So many elements; numbers that are not below the modulus are passed over, as hardly ever happens."""
        found: Vector = []
        while len(found) < length:
            words = field.words(bytes(self._stream.read((length - len(found)) * field.size)))
            found += [word for word in words if word < field.modulus]
        return found
