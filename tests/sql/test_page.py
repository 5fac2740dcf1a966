"""The examples of the SQL page do what the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dither as dt
from dither.sql.scalars import labels, scalar
from dither.sql.text import grammar, limits

PAGE = (Path(__file__).parents[2] / "docs" / "ask" / "sql.md").read_text(encoding="utf-8")
(SETTING,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ANSWERED = [
    text.strip()
    for block in re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for text in block.split(";\n")
    if text.strip()
]
REFUSED = re.findall(r"^\| `(SELECT .*?)` \| [^|]* \| [^|]* \|$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dt.Curator]:
    """The tables of the page, made by the page's own words."""
    folder = tmp_path_factory.mktemp("page") / "hospital"
    told: dict[str, object] = {}
    exec(SETTING.replace('"hospital")\ncur.people', f"{str(folder)!r})\ncur.people"), told)
    curator = told["cur"]
    assert isinstance(curator, dt.Curator)
    yield curator
    curator.close()


@pytest.mark.parametrize("text", ANSWERED)
def test_examples_are_answered(hospital: dt.Curator, text: str) -> None:
    before = hospital.budget("patients").spent
    dialect = "bigquery" if text.startswith("SELECT WITH ") else None
    answer = hospital.sql(text, epsilon="0.5", dialect=dialect)
    assert answer.names
    assert answer.charged
    assert hospital.budget("patients").spent != before


@pytest.mark.parametrize("text", REFUSED)
def test_refused_examples_are_refused(hospital: dt.Curator, text: str) -> None:
    entries = len([*hospital.ledger()])
    with pytest.raises((dt.UnsupportedQuery, dt.PolicyError)) as caught:
        hospital.sql(text.replace("\\|", "|"), epsilon="0.5")
    if isinstance(caught.value, dt.UnsupportedQuery):
        assert caught.value.line
        assert caught.value.hint
    assert len([*hospital.ledger()]) == entries


def test_the_page_has_an_example_of_every_form_and_refusal() -> None:
    assert len(ANSWERED) > 40
    assert len(REFUSED) > 30


def test_limits_are_those_of_the_code() -> None:
    for number in (limits.MOST_BYTES, limits.MOST_TOKENS, limits.MOST_NESTING, grammar.MOST_OPTIONS):
        assert f"{number:,}" in PAGE
    for number in (scalar.MOST_WORDS, labels.MOST_LABELS, labels.MOST_RUNS):
        assert f"{number:,}" in PAGE
