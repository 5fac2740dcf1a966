"""How everything is written that is kept for good: tags, names and versions that no change of the code changes."""

from dither.records.tags import recorded, text_of

__all__ = ["recorded", "text_of"]
