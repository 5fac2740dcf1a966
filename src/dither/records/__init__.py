"""How everything is written that is kept for good: tags, names and versions that no change of the code changes."""

from dither.records.tags import recorded, tags, text_of

__all__ = ["recorded", "tags", "text_of"]
