"""HAVING, ORDER BY, LIMIT and OFFSET: done with finished, noisy columns and public keys alone."""

from __future__ import annotations

from dither.sql.after.after import After, Sorting

__all__ = ["After", "Sorting"]
