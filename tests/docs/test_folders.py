"""Pages can be followed one after the other in one folder: each opens a curator, or a ledger, of its own."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPENED = re.compile(r'\b(?:Curator|Ledger)\.open\("([^"]+)"')


def test_no_two_pages_open_the_same_folder() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*/*.md")]
    opened = Counter(name for page in pages for name in set(OPENED.findall(page.read_text(encoding="utf-8"))))
    assert opened["clinic"] == 1, "the README's"
    assert [name for name, pages_with_it in opened.items() if pages_with_it > 1] == []
