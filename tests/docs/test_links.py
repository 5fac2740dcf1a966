"""Links between pages lead somewhere, and every page can be found from the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def links(page: Path) -> list[Path]:
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    return [(page.parent / target).resolve() for target in targets]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [str(target) for target in links(page) if not target.exists()] == []


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = set(links(index))
    for page in (ROOT / "docs").glob("*/*.md"):
        assert page.parent.name == "proofs" or page.resolve() in listed, page.name
