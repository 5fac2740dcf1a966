# ruff: noqa: E501
"""Texts that compute with answers: priced once, refused before the charge, kept, and never losing what was paid for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dither as dt
from dither.answer.wire import from_bytes, to_bytes
from dither.curator.over import over_walk, part_prices
from dither.curator.over.computed_files import Computed
from dither.engines.duckdb.engine import DuckDBEngine
from dither.errors import LedgerCorrupt, LedgerError, NotComputed
from dither.ledger import Charge

Make = Callable[..., dt.Curator]
INNER = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
RANKED = f"SELECT region, n, RANK() OVER (ORDER BY n DESC) AS r FROM ({INNER}) AS t"
TWO = "SELECT 'a' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'b', COUNT(*) FROM visits WHERE urgent"
LEVELS = "SELECT region, ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (region, ward)"
ZCDP = dt.ApproxDP(4, "1e-6")


def charges(clinic: dt.Curator) -> list[Fraction]:
    return [Fraction(entry.body["cost"]) for entry in clinic.ledger() if entry.kind == "reserve"]


def check_paid_once(clinic: dt.Curator, text: str, **price: Any) -> int:
    """All questions of a text together cost its price, each pays for the noise that it got; how many there are."""
    before = len(charges(clinic))
    alone = clinic._walk.price("SELECT COUNT(*) FROM visits", **price).price.cost
    answer = clinic.sql(text, **price)
    made = [entry.body for entry in clinic.ledger() if entry.kind == "reserve"][before:]
    assert answer.charged
    assert sum(Fraction(body["cost"]) for body in made) == alone
    import json

    for body in made:
        spent = Fraction(0)
        for measure in json.loads(body["plan"])["measures"]:
            norms, mechanism = measure["sensitivity"], measure["mechanism"]
            if mechanism["mechanism"] == "Gaussian":
                spent += Fraction(mechanism["rho"])
            else:
                spent += Fraction(mechanism["epsilon"])
            assert Fraction(mechanism["sensitivity"]) ** 2 >= Fraction(norms["l2_squared"])
        assert spent <= Fraction(body["cost"])
    return len(made)


@pytest.mark.parametrize("budget", [dt.PureDP(4), ZCDP], ids=["pure", "zcdp"])
@pytest.mark.parametrize(("text", "questions"), [(RANKED, 1), (TWO, 2), (LEVELS, None)])
def test_one_price_for_all(make: Make, budget: Any, text: str, questions: int | None) -> None:
    found = check_paid_once(make(budget), text, epsilon="0.5")
    assert found == questions if questions else found in (1, 2, 3)


def test_planted_a_level_charged_too_little(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = part_prices.price_shares
    monkeypatch.setattr(
        part_prices, "price_shares", lambda parts, kind: [*shares(parts, kind)[:-1], Fraction(1, 10**6)]
    )
    with pytest.raises(AssertionError):
        check_paid_once(make(ZCDP), TWO, epsilon="0.5")


def test_planted_a_level_with_noise_it_did_not_pay_for(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from dither.curator.walk import Walk

    honest = Walk.price_question

    def broken(walk: Walk, question: Any, analyst: Any, **stated: Any) -> Any:
        priced = honest(walk, question, analyst, **stated)
        if "rho" not in stated:
            return priced
        better = honest(walk, question, analyst, **{**stated, "rho": 2 * stated["rho"]})
        return replace(better, price=priced.price)

    monkeypatch.setattr(Walk, "price_question", broken)
    with pytest.raises(AssertionError):
        check_paid_once(make(ZCDP), TWO, epsilon="0.5")


def test_what_is_computed_is_free(make: Make) -> None:
    clinic = make()
    alone = clinic.sql(INNER, epsilon=1)
    spent, first = charges(clinic), clinic.sql(RANKED, epsilon=1)
    assert not first.charged
    assert dict(zip(first["region"], first["n"], strict=True)) == dict(zip(alone["region"], alone["n"], strict=True))
    other = clinic.sql(f"SELECT SUM(n) AS whole FROM ({INNER}) AS t", epsilon=1)
    assert other.value == alone["n"].sum()
    assert charges(clinic) == spent


def test_again_it_is_the_same_whatever_computes_it(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic = make()
    first = clinic.sql(RANKED, epsilon=1)
    written = over_walk.engine_text
    monkeypatch.setattr(over_walk, "engine_text", lambda tree: f"{written(tree)} LIMIT 1")
    again = clinic.sql(RANKED, epsilon=1)
    assert not again.charged
    assert again.to_dicts(intervals=True) == first.to_dicts(intervals=True)
    assert clinic.sql(RANKED, epsilon=1, confidence="0.9").to_dicts() != first.to_dicts()  # was not computed before


def test_kept_files_are_proven(make: Make) -> None:
    clinic = make()
    clinic.sql(RANKED, epsilon=1)
    (kept,) = (clinic._policy.folder / "computed").glob("*/*")
    content = kept.read_bytes()
    assert kept.stat().st_mode & 0o077 == 0
    assert [one.name for one in Computed.from_bytes(content).columns] == ["region", "n", "r"]
    for broken, error in (
        (content[:-1] + b"x", LedgerCorrupt),
        (b"x" + content, LedgerCorrupt),
        (content.replace(b'"version": 1', b'"version": 2'), LedgerError),
    ):
        kept.chmod(0o600)
        kept.write_bytes(broken)
        with pytest.raises(error):
            clinic.sql(RANKED, epsilon=1)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT region + n AS x FROM ({INNER}) AS t",
        f"SELECT nosuch FROM ({INNER}) AS t",
        f"SELECT CAST(n AS DATE) AS d FROM ({INNER}) AS t",
        f"SELECT region FROM ({INNER}) AS t WHERE CAST(n > 5 AS TIMESTAMP) IS NULL",
        "SELECT (SELECT region FROM visits GROUP BY region) AS x",
        "SELECT (SELECT COUNT(*) FROM visits LIMIT 0) AS x",
        "SELECT (SELECT COUNT(*) FROM visits HAVING COUNT(*) > 5) AS x",
        f"SELECT region, n FROM ({INNER}) AS t WHERE RANK() OVER (ORDER BY n) < 3",
        f"SELECT v.region FROM visits v JOIN ({INNER}) t ON v.region = t.region",
        f"SELECT region, n FROM ({INNER}) AS t UNION ALL SELECT region FROM ({INNER}) AS u",
        "SELECT region, COUNT(*) OVER () FROM visits",
        "SELECT region, paid, COUNT(*) FROM visits GROUP BY ROLLUP (region)",
        "SELECT DISTINCT ON (region) region FROM visits",
        f"WITH RECURSIVE t AS ({INNER}) SELECT n FROM t",
        f"SELECT read_text('x') FROM ({INNER}) AS t",
        f"SELECT * FROM ({INNER}) AS t, read_csv('x')",
        f"SELECT now() AS x, n FROM ({INNER}) AS t",
        "SELECT region, COUNT(*) FROM visits GROUP BY CUBE (region, ward, seen, urgent, age)",
    ],
)
def test_refused_before_the_charge(clinic: dt.Curator, text: str) -> None:
    entries = len([*clinic.ledger()])
    for asked in (clinic.sql, clinic.explain):
        with pytest.raises((dt.UnsupportedQuery, dt.PolicyError)):
            asked(text, epsilon=1)
    assert len([*clinic.ledger()]) == entries


def test_a_failure_on_noisy_values_loses_nothing(make: Make) -> None:
    clinic = make()
    text = f"SELECT CAST(region AS DOUBLE PRECISION) AS x, n FROM ({INNER}) AS t"
    with pytest.raises(NotComputed) as caught:
        clinic.sql(text, epsilon=1)
    spent = charges(clinic)
    assert len(spent) == 1
    (question,) = caught.value.questions
    assert not clinic.sql(question, epsilon=1).charged
    with pytest.raises(NotComputed):
        clinic.sql(text, epsilon=1)
    assert charges(clinic) == spent


def test_undefined_is_null(clinic: dt.Curator) -> None:
    text = f"SELECT SQRT(-1 - ABS(n)) AS s, LN(n - n) AS l, n / (n - n) AS d, n % (n - n) AS m, LOG(n - n) AS g FROM ({INNER}) t"
    assert all(value is None for row in clinic.sql(text, epsilon=1).to_dicts() for value in row.values())


def test_a_request_is_charged_once(make: Make) -> None:
    clinic = make()
    first = clinic.sql(TWO, epsilon=1, request="r")
    spent = charges(clinic)
    assert clinic.sql(TWO, epsilon=1, request="r").to_dicts() == first.to_dicts()
    assert charges(clinic) == spent
    with pytest.raises(dt.PolicyError):
        clinic.sql(TWO, epsilon=2, request="r")


def test_what_does_not_fit_is_refused_before_the_first_part(make: Make) -> None:
    clinic = make(dt.PureDP(1))
    with pytest.raises(dt.BudgetExceeded):
        clinic.sql(TWO, epsilon="1.5")
    assert charges(clinic) == []


def test_an_analyst_pays_from_the_own_cap(make: Make) -> None:
    clinic = make()
    alice = clinic.analyst("alice", budget=dt.PureDP(1), people="patients")
    assert alice.sql(TWO, epsilon=1).charged
    assert not alice.sql(TWO, epsilon=1).charged
    assert alice.budget("patients").left.epsilon == 0
    with pytest.raises(dt.BudgetExceeded):
        alice.sql(LEVELS, epsilon="0.1")


def test_an_explanation_says_what_is_charged(make: Make) -> None:
    clinic = make(ZCDP)
    content = clinic.explain(TWO, epsilon="0.5").to_dict()
    clinic.sql(TWO, epsilon="0.5")
    assert float(content["price"]["rho"]) == pytest.approx(float(sum(charges(clinic))))
    assert [column["name"] for column in content["columns"]] == ["question 1: COUNT(*)", "question 2: COUNT(*)"]
    assert "costs nothing" in str(clinic.explain(RANKED, epsilon="0.5"))


def test_a_delta_for_keys_is_paid_once(make: Make) -> None:
    clinic = make(ZCDP)
    text = "SELECT remark AS x, COUNT(*) AS n FROM visits GROUP BY remark UNION ALL SELECT remark, COUNT(*) FROM visits WHERE urgent GROUP BY remark"
    answer = clinic.sql(text, epsilon="0.5", delta="1e-8")
    paid = [Fraction(entry.body["delta"]) for entry in clinic.ledger() if entry.kind == "reserve"]
    assert paid == [Fraction(1, 2 * 10**8)] * 2
    assert answer.price["delta"] == "1e-08"


def test_an_error_in_place_of_a_price(make: Make) -> None:
    answer = make(dt.PureDP(100)).sql(TWO, error=2)
    lower, upper = answer.interval("n")
    assert (upper - lower <= 4).all()


def test_it_travels(make: Make) -> None:
    answer = make().sql(
        f"SELECT region, n, n > 3 AS many, CASE WHEN n > 3 THEN 'a' ELSE 'b' END AS size FROM ({INNER}) AS t", epsilon=1
    )
    again = from_bytes(to_bytes(answer))
    assert again.to_dicts(intervals=True) == answer.to_dicts(intervals=True)
    assert str(again) == str(answer)
    assert answer.to_json() == again.to_json()


def test_a_refreshed_table_is_asked_anew(make: Make, visits: Callable[..., Any]) -> None:
    clinic = make()
    clinic.sql(RANKED, epsilon=1)
    clinic.refresh("visits", visits(older=1))
    assert clinic.sql(RANKED, epsilon=1).charged


def test_questions_are_as_before(make: Make) -> None:
    """What is a question by itself is not read otherwise: totals for each owner stay private."""
    clinic = make()
    text = "SELECT AVG(total) FROM (SELECT patient, SUM(paid) AS total FROM visits GROUP BY patient) AS t"
    assert len(clinic._walk.price(text, epsilon=1).question.outputs) == 1
    with pytest.raises(dt.UnsupportedQuery):
        clinic.sql(
            "SELECT total FROM (SELECT patient, SUM(paid) AS total FROM visits GROUP BY patient) AS t", epsilon=1
        )
    assert clinic._ledger.fits("patients", None, Charge(Fraction(4)))


def test_no_more_is_computed_than_there_is_room_for(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows beside rows are many: so many bytes leave the worker, whatever was paid for."""
    for name in ("_MOST_BYTES", "_MOST_LISTED_BYTES"):
        monkeypatch.setattr(over_walk, name, 2**15)
    clinic = make(dt.PureDP(4))
    text = (
        "WITH a AS (SELECT age, COUNT(*) AS n FROM visits GROUP BY age) SELECT a.age, b.n AS m FROM a CROSS JOIN a AS b"
    )
    with pytest.raises(NotComputed, match="too large"):
        clinic.sql(text, epsilon="0.5")
    assert len(
        clinic.sql("WITH a AS (SELECT age, COUNT(*) AS n FROM visits GROUP BY age) SELECT n FROM a", epsilon="0.5")
    )


def test_planted_results_of_any_size(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DuckDBEngine.compute
    monkeypatch.setattr(DuckDBEngine, "compute", lambda self, sql, tables, most: honest(self, sql, tables, 2**40))
    with pytest.raises(pytest.fail.Exception):
        test_no_more_is_computed_than_there_is_room_for(make, monkeypatch)


# NULL is the largest in PostgreSQL, and the smallest in SQLite
CHANGES = f"SELECT region, c, RANK() OVER (ORDER BY c) AS r FROM (SELECT region, n - LAG(n) OVER (ORDER BY region) AS c FROM ({INNER}) AS t) AS q"


def check_dialects_apart(clinic: dt.Curator) -> None:
    """The same words over the same release, in two dialects: each has its own meaning, also when asked again."""
    for _ in range(2):
        for dialect, first, rank in ((None, "north", 3), ("sqlite", None, 1), ("postgres", "north", 3)):
            rows = clinic.sql(CHANGES, epsilon=1, dialect=dialect).to_dicts()
            assert [(row["region"], row["r"]) for row in rows if row["c"] is None] == [(first, rank)]
    assert len(charges(clinic)) == 1


def test_dialects_over_the_same_answer(make: Make) -> None:
    check_dialects_apart(make())


def test_planted_one_computation_for_all_dialects(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = over_walk.computed_key
    monkeypatch.setattr(
        over_walk, "computed_key", lambda text, releases, shown: honest(text, releases, {**shown, "dialect": ""})
    )
    with pytest.raises(AssertionError):
        check_dialects_apart(make())


@pytest.mark.parametrize(
    ("computed", "place"),
    [
        ("region,\n n - region", (2, 4)),  # the operator that fits no types
        ("region, LOWER(n)", (1, 16)),
        ("region, MAX(n)", (None, None)),  # the text has the column's name twice: in the part, and here
    ],
)
def test_what_the_engine_refuses_has_its_own_place_or_none(
    make: Make, computed: str, place: tuple[int | None, int | None]
) -> None:
    with pytest.raises(dt.UnsupportedQuery, match="cannot be computed from the answer") as caught:
        make(ZCDP).explain(f"SELECT {computed} FROM ({INNER}) AS t", epsilon=1)
    assert (caught.value.line, caught.value.column) == place


def test_over_answers_is_said_of_what_stands_elsewhere(make: Make) -> None:
    clinic = make(ZCDP)
    for text, said in (
        ("SELECT SAFE_DIVIDE(COUNT(*), 2) FROM visits", "SAFE_DIVIDE is not supported. Write x / NULLIF(y, 0)."),
        ("SELECT WIDTH_BUCKET(COUNT(*), 0, 10, 5) FROM visits", "WIDTH_BUCKET is not supported over answers. Over"),
    ):
        with pytest.raises(dt.UnsupportedQuery) as caught:
            clinic.explain(text, epsilon=1)
        assert said in str(caught.value)
