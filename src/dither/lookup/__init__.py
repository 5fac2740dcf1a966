"""Private look-ups: a release is public, and which of its cells somebody reads stays their own affair."""

from dither.lookup.cells import Cells, publish
from dither.lookup.client import Lookup
from dither.lookup.lwe import LweDatabase
from dither.lookup.xor import XorDatabase

__all__ = ["Cells", "Lookup", "LweDatabase", "XorDatabase", "publish"]
