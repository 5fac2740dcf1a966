"""BigQuery's SELECT WITH DIFFERENTIAL_PRIVACY means what is written beside it, or is refused where it stands."""

from __future__ import annotations

import dialects_rows as rows
import pytest

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.structure import Structure
from dither.sql.binding.reading import read
from dither.sql.text.dialects import privacy_clause as clause_module
from dither.sql.text.dialects.privacy_clause import privacy_clause
from dither.sql.text.dialects.vocabularies import VOCABULARIES

CATALOG = Catalog({"t": Table("t", "people", "owner_id", 4, rows.COLUMNS)})
LEXICON = VOCABULARIES["bigquery"].lexicon
CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-7, max_rows_contributed=3)"
ALIKE = {
    "COUNT(*) FROM t": "COUNT(*) FROM t",
    "b, COUNT(*), SUM(a) FROM t GROUP BY b": "b, COUNT(*), SUM(a) FROM t GROUP BY b",
    "SUM(a, contribution_bounds_per_group => (-5, 5)) FROM t": "OWNER_SUM(a, -5, 5) FROM t",
    "SUM(m CLAMPED BETWEEN 0 AND 2.5) FROM t": "OWNER_SUM(m, 0, 2.5) FROM t",
    "SUM(a + 1 CLAMPED BETWEEN -3 AND 2) n, SUM(b) FROM t": "OWNER_SUM(a + 1, -3, 2) AS n, SUM(b) FROM t",
    "COUNT(*, contribution_bounds_per_group=>(0, 5)) FROM t WHERE a BETWEEN 1 AND 3": (
        "OWNER_COUNT(5) FROM t WHERE a BETWEEN 1 AND 3"
    ),
    "COUNT(a, contribution_bounds_per_group=>(0, 5)) FROM t": (
        "OWNER_SUM(CASE WHEN a IS NULL THEN 0 ELSE 1 END, 0, 5) FROM t"
    ),
    "PERCENTILE_CONT(a, 0.5, contribution_bounds_per_row => (0, 10)) FROM t": (
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY CASE WHEN a IS NULL THEN NULL ELSE LEAST(GREATEST(a, 0), 10) END) "
        "FROM t"
    ),
}
REFUSED = {
    f"{CLAUSE} AVG(a) FROM t": "AVG, which averages the averages",
    f"{CLAUSE} AVG(a, contribution_bounds_per_group => (0, 5)) FROM t": "AVG, which averages the averages",
    f"{CLAUSE} COUNT(*, contribution_bounds_per_group => (1, 5)) FROM t": "clamped from below",
    f"{CLAUSE} COUNT(DISTINCT a, contribution_bounds_per_group => (0, 5)) FROM t": "",
    f"{CLAUSE} SUM(a, contribution_bounds_per_row => (1, 5)) FROM t": "'contribution_bounds_per_row' of SUM",
    f"{CLAUSE} SUM(a, contribution_bounds_per_group => (0, b)) FROM t": "no two written numbers",
    f"{CLAUSE} SUM(a, report_format => 'JSON') FROM t": "'report_format' of SUM",
    "SELECT SUM(a, contribution_bounds_per_group => (0, 5)) FROM t": "'contribution_bounds_per_group' of SUM",
    f"SELECT COUNT(*) FROM ({CLAUSE} a FROM t)": "",
    f"{CLAUSE.replace('max_rows_contributed=3', 'max_groups_contributed=2')} b, COUNT(*) FROM t GROUP BY b": "2 groups",
    f"{CLAUSE.replace(', max_rows_contributed=3', '')} b, COUNT(*) FROM t GROUP BY b": "1 if nothing is said",
    f"{CLAUSE.replace('epsilon', 'kappa')} COUNT(*) FROM t": "the option 'kappa'",
    f"{CLAUSE.replace('delta', 'epsilon')} COUNT(*) FROM t": "the option 'epsilon'",
    f"{CLAUSE.replace('1e-7', '-1')} COUNT(*) FROM t": "a number above zero",
    f"{CLAUSE.replace('=3', '=0')} COUNT(*) FROM t": "a whole number above zero",
    f"{CLAUSE.replace('delta=1e-7', 'privacy_unit_column=b')} COUNT(*) FROM t": "not to those in 'b'",
    f"{CLAUSE.replace('delta=1e-7', 'max_groups_contributed=1')} COUNT(*) FROM t": "exclude each other",
    "SELECT WITH ANONYMIZATION OPTIONS(epsilon=1) COUNT(*) FROM t": "SELECT WITH ANONYMIZATION is not supported",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1 COUNT(*) FROM t": "",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(": "",
}


@pytest.mark.parametrize("text", ALIKE)
def test_a_form_means_what_is_beside_it(text: str) -> None:
    mine = read(f"{CLAUSE} {text}", CATALOG, dialect="bigquery")
    assert mine == read(f"SELECT {ALIKE[text]}", CATALOG)


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_meant_is_refused_by_name(text: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        read(text, CATALOG, dialect="bigquery")
    assert REFUSED[text] in str(caught.value)
    assert caught.value.line == 1


LIMITED = Table(
    "few", "people", "owner_id", 4, rows.COLUMNS, structure=Structure(rows_in={"id": 1}, values={"b": 2, "g": 1})
)
FEW = Catalog({"few": LIMITED, "t": CATALOG.tables["t"], "one": Table("one", "people", "owner_id", 1, rows.COLUMNS)})


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("b, COUNT(*) FROM few GROUP BY b", 2),
        ("g, COUNT(*) FROM few GROUP BY g", 1),
        ("g, b, COUNT(*) FROM few GROUP BY g, b", 2),
        ("a, COUNT(*) FROM few GROUP BY a", 4),
        ("b, a, COUNT(*) FROM few GROUP BY b, a", 4),
        ("b + 1, COUNT(*) FROM few GROUP BY 1", 4),
        ("a, COUNT(*) FROM one GROUP BY a", 1),
        ("g, COUNT(*) FROM (SELECT owner_id, b AS g FROM few) q GROUP BY g", 4),
        ("few.b, COUNT(*) FROM few JOIN t ON few.owner_id = t.owner_id GROUP BY few.b", None),
        ("b, COUNT(*) FROM (SELECT owner_id, b FROM few UNION ALL SELECT owner_id, b FROM few) q GROUP BY b", None),
    ],
)
def test_a_limit_of_groups_that_declarations_keep(text: str, most: int | None) -> None:
    """A limit is what is declared and enforced already, and then has its noise; a smaller one is refused."""
    for groups in range(1, 6):
        limited = f"{CLAUSE.replace('max_rows_contributed=3', f'max_groups_contributed={groups}')} {text}"
        if most is not None and groups >= most:
            assert read(limited, FEW, dialect="bigquery") == read(f"SELECT {text}", FEW)
        else:
            with pytest.raises(UnsupportedQuery, match=f"a limit of {groups} groups"):
                read(limited, FEW, dialect="bigquery")


def test_planted_groups_are_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clause_module, "_most_groups", lambda tree, catalog: 1)
    with pytest.raises(pytest.fail.Exception):
        test_a_limit_of_groups_that_declarations_keep("a, COUNT(*) FROM few GROUP BY a", 4)


def test_the_clause_is_read() -> None:
    found = privacy_clause(f"WITH q AS (SELECT 1) {CLAUSE} COUNT(*) FROM t", LEXICON)
    assert found is not None
    assert (found.stated, found.groups, found.unit) == (
        {"epsilon": "1", "delta": "0.0000001", "rows_per_owner": 3}, 1, ""
    )  # fmt: skip
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=NULL, privacy_unit_column=t.`ID`) 1"
    found = privacy_clause(text, LEXICON)
    assert found is not None
    assert (found.stated, found.groups, found.unit) == ({}, None, "id")
    assert privacy_clause("SELECT COUNT(*) FROM t", LEXICON) is None
