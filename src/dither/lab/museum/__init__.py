"""The bug museum: small broken mechanisms, accountants, plans and ledgers, each with its story and its fixed twin.

`run` holds every exhibit against its check, `table` shows what came of it; docs/evidence/museum.md tells the stories.
"""

from __future__ import annotations

from dither.lab.museum.catalogue import EXHIBITS
from dither.lab.museum.exhibit import AnyExhibit, Exhibit, Finding, Reckoning
from dither.lab.museum.tour import Row, run, table, visit

__all__ = ["EXHIBITS", "AnyExhibit", "Exhibit", "Finding", "Reckoning", "Row", "run", "table", "visit"]
