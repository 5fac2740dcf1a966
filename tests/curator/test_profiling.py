"""Private profiles: charged once, kept with their snapshot, shown to everybody, and all that plans are chosen by."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.answer.noisy_measures import Released
from dither.curator.curator import Curator
from dither.curator.recall import profile_of
from dither.ledger import Charge
from dither.policy.catalog import Table
from dither.sql.plan.nodes import CountRows

ROWS = 400
LIMIT = 64


def skewed(seed: int = 1, owners: int = 300) -> pa.Table:
    drawn = np.random.default_rng(seed)
    rows = np.minimum(np.floor(drawn.lognormal(1, 1, owners)) + 1, ROWS).astype(int)
    patients = np.repeat(np.arange(owners), rows)
    return pa.table(
        {
            "patient": patients,
            "age": drawn.integers(20, 60, len(patients)),
            "paid": drawn.lognormal(2, 1, len(patients)).round(2),
            "region": drawn.choice(["north", "south"], len(patients)),
            "ward": drawn.integers(1, 4, len(patients)),
        }
    ).append_column("seen", pa.array(["2024-01-02"] * len(patients)))


@pytest.fixture
def hospital(make: Callable[..., dt.Curator], declared: dict[str, Any]) -> dt.Curator:
    columns = {name: declared["columns"][name] for name in ("age", "paid", "region", "ward")}
    return make(dt.PureDP(100), skewed(), max_rows_per_owner=LIMIT, columns=columns)


def test_a_profile_costs_its_share_once(hospital: dt.Curator) -> None:
    hospital.profile("visits")
    assert float(hospital.budget("patients").spent.epsilon) == pytest.approx(2, rel=1e-9)
    assert hospital.budget("patients").spent.epsilon <= 2
    spent, entries = hospital.budget("patients").spent, len([*hospital.ledger()])
    again = hospital.profile("visits")
    assert (hospital.profile("visits", share="0.005").to_dict(), hospital.budget("patients").spent) == (
        again.to_dict(),
        spent,
    )
    assert len([*hospital.ledger()]) == entries
    hospital.profile("visits", share="0.03")
    assert float(hospital.budget("patients").spent.epsilon) == pytest.approx(5, rel=1e-9)
    hospital.verify()


@pytest.mark.parametrize("budget", [dt.PureDP(100), dt.ApproxDP(100, "1e-6")])
def test_a_profile_tells_the_truth_within_its_noise(make: Any, declared: dict[str, Any], budget: Any) -> None:
    columns = {name: declared["columns"][name] for name in ("age", "paid")}
    source = skewed()
    clinic = make(budget, source, max_rows_per_owner=LIMIT, columns=columns)
    told = clinic.profile("visits", share="0.5").to_dict()
    rows = np.minimum(np.bincount(source["patient"].to_numpy()), LIMIT)
    exact = np.bincount(np.log2(rows).astype(int), minlength=len(told["rows_per_owner"]))
    for part, owners in zip(told["rows_per_owner"], exact.tolist(), strict=True):
        assert abs(part["owners"] - owners) <= 3  # 95% of the noise is 0 or 1 at this price
        assert part["lower"] <= part["owners"] <= part["upper"] or part["owners"] < 0
    assert told["rows_per_owner"][-1] == told["rows_per_owner"][-1] | {"from": 64, "to": 64}
    ages = [part["value"] for part in told["columns"]["age"]]
    assert ages == sorted(ages)
    assert 32 <= ages[3] <= 48  # of one row of each owner, drawn with a key of the folder: 40, give or take 1.1
    assert set(told["columns"]) == {"age", "paid"}
    assert all(0 <= p["lower_rank"] <= p["rank"] <= p["upper_rank"] <= 1 for p in told["columns"]["paid"])


@pytest.mark.parametrize("budget", [dt.PureDP(4), dt.ApproxDP(4, "1e-6"), dt.ApproxDP(4, "1e-6", "basic")])
def test_a_profile_that_does_not_fit_as_a_whole_costs_nothing(make: Any, declared: dict[str, Any], budget: Any) -> None:
    """It is asked in parts: the first would fit."""
    columns = {name: declared["columns"][name] for name in ("age", "paid")}
    clinic = make(budget, skewed(), max_rows_per_owner=LIMIT, columns=columns)
    clinic.profile("visits", share="0.2")
    before, entries = clinic.budget("patients"), len([*clinic.ledger()])
    with pytest.raises(dt.BudgetExceeded, match=r"the price share=0\.85 does not fit.*Nothing was charged"):
        clinic.profile("visits", share="0.85")
    assert (clinic.budget("patients"), len([*clinic.ledger()])) == (before, entries)
    clinic.profile("visits", share="0.2")
    assert clinic.budget("patients") == before, "what was paid for is there"
    clinic.profile("visits", share="0.8")  # all that is left, although each part is rounded up when it is charged
    assert 0 <= clinic.budget("patients").left.adding < Fraction(1, 10**13)


def test_it_is_shown_to_the_analyst_alike(hospital: dt.Curator) -> None:
    alice = hospital.analyst("alice", budget=dt.PureDP(1))
    with pytest.raises(dt.PolicyError, match="no profile"):
        alice.profiled("visits")
    made = hospital.profile("visits", columns=["paid"])
    assert str(alice.profiled("visits")) == str(made)
    assert "how many owners have so many" in str(made)
    assert "age" not in str(made)
    assert [entry.kind for entry in alice.history()] == ["account"]


def test_new_data_have_no_profile_yet(hospital: dt.Curator) -> None:
    hospital.profile("visits")
    chosen = hospital.explain("SELECT COUNT(*) FROM visits", epsilon=1).to_dict()["rows_per_owner"]
    hospital.refresh("visits", skewed(2))
    with pytest.raises(dt.PolicyError, match="no profile of its current data"):
        hospital.profiled("visits")
    assert chosen < LIMIT
    assert hospital.explain("SELECT COUNT(*) FROM visits", epsilon=1).to_dict()["rows_per_owner"] == LIMIT


@pytest.mark.parametrize("share", ["0", "-1", "1.01", float("nan"), True])
def test_a_share_is_a_part_of_the_budget(hospital: dt.Curator, share: Any) -> None:
    with pytest.raises(dt.ParameterError):
        hospital.profile("visits", share=share)
    assert hospital.budget("patients").spent.epsilon == 0


def test_only_columns_of_numbers_have_quantiles(hospital: dt.Curator) -> None:
    with pytest.raises(dt.PolicyError, match="'region' is none of: age, paid, ward"):
        hospital.profile("visits", columns=["region"])
    assert hospital.budget("patients").spent.epsilon == 0


def test_one_row_an_owner_and_rows_that_are_their_own_owners(make: Any, declared: dict[str, Any]) -> None:
    columns = {"age": declared["columns"]["age"]}
    clinic = make(dt.PureDP(100), skewed(), owner=dt.EACH_ROW, max_rows_per_owner=None, columns=columns)
    (part,) = clinic.profile("visits", share="0.5").to_dict()["rows_per_owner"]
    assert (part["from"], part["to"]) == (1, 1)
    assert abs(part["owners"] - skewed().num_rows) <= 3
    assert clinic.explain("SELECT COUNT(*) FROM visits", epsilon=1).to_dict()["strategy"] == ""


def test_a_killed_profile_is_taken_up_again_under_the_same_charge(
    hospital: dt.Curator, folder: Path, killed: Callable[[Callable[[], object]], None]
) -> None:
    hospital.close()

    def die() -> None:
        clinic = Curator.open(folder)
        run = clinic._engine.run

        def dying(statement: Any) -> Any:
            if "QUANTILE" in statement.sql or '"v"' in statement.sql or " AS v" in statement.sql:
                os.kill(os.getpid(), signal.SIGKILL)
            return run(statement)

        clinic._engine.run = dying  # type: ignore[method-assign]
        clinic.profile("visits")

    killed(die)
    with Curator.open(folder) as clinic:
        before = clinic.budget("patients").spent.epsilon
        assert clinic.profiled("visits").columns == {}  # what is not settled is not used
        clinic.profile("visits")
        assert before < clinic.budget("patients").spent.epsilon
        assert float(clinic.budget("patients").spent.epsilon) == pytest.approx(2, rel=1e-9)
        assert set(clinic.profiled("visits").columns) == {"age", "paid", "ward"}


def test_rows_per_owner_can_be_stated(hospital: dt.Curator) -> None:
    text = "SELECT COUNT(*) FROM visits"
    hospital.profile("visits")
    first = hospital.sql(text, epsilon=1)
    stated = hospital.sql(text, epsilon=1, rows_per_owner=3)
    assert stated.charged  # an answer under another limit is no answer to this
    assert not hospital.sql(text, epsilon=1, rows_per_owner=3).charged
    assert (
        "At most 3 rows of each owner are counted; further rows are left out, which ± does not cover." in stated.notes
    )
    assert not hospital.sql(text, epsilon=1).charged
    assert first.notes != stated.notes
    told = hospital.explain(text, epsilon=1, rows_per_owner=3)
    assert told.to_dict()["rows_per_owner"] == 3
    assert "as stated" in str(told)
    for bad in (0, -1, 1.5, True, "many"):
        with pytest.raises(dt.ParameterError):
            hospital.sql(text, epsilon=1, rows_per_owner=bad)  # type: ignore[arg-type]


def test_a_stored_answer_says_how_it_was_made_then(hospital: dt.Curator) -> None:
    text = "SELECT COUNT(*), SUM(paid) FROM visits"
    before = hospital.sql(text, epsilon=1)
    hospital.profile("visits")
    assert hospital.sql(text, epsilon=1).notes == before.notes
    assert "At most 64 rows" in before.notes[0]
    fresh = hospital.sql(text, epsilon=2)
    assert fresh.notes != before.notes


def test_a_killed_question_is_run_as_it_was_planned_before_a_profile(
    hospital: dt.Curator, folder: Path, killed: Callable[[Callable[[], object]], None]
) -> None:
    """The recipe recorded with the charge decides, whatever has been learned since."""
    hospital.close()
    text = "SELECT COUNT(*), SUM(paid) FROM visits"

    def die() -> None:
        clinic = Curator.open(folder)
        clinic._engine.run = lambda statement: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore
        clinic.sql(text, epsilon=1, request="r")

    killed(die)
    with Curator.open(folder) as clinic:
        clinic.profile("visits")
        spent = clinic.budget("patients").spent
        answer = clinic.sql(text, epsilon=1, request="r")
        assert clinic.budget("patients").spent == spent
        assert (
            "At most 64 rows of each owner are counted; further rows are left out, which ± does not cover."
            in answer.notes
        )
        assert not clinic._ledger.pending()


def test_an_explanation_tells_the_bias_that_the_profile_expects(hospital: dt.Curator) -> None:
    text = "SELECT COUNT(*), AVG(age) FROM visits"
    assert hospital.explain(text, epsilon="0.01").to_dict()["columns"][0]["possible_bias"] is None
    hospital.profile("visits", share="0.5")
    told = hospital.explain(text, epsilon="0.01", adjust=False)
    count, average = told.to_dict()["columns"]
    rows = np.minimum(np.bincount(skewed()["patient"].to_numpy()), LIMIT)
    lost = float(np.maximum(rows - told.to_dict()["rows_per_owner"], 0).sum())
    assert count["possible_bias"] == pytest.approx(lost, rel=0.3)
    assert "too little, by the profile" in str(told)
    scaled = hospital.explain(text, epsilon="0.01")
    assert scaled.to_dict()["columns"][0]["possible_bias"] < count["possible_bias"]
    assert "too little or too much, by the profile" in str(scaled)
    assert average["possible_bias"] is None
    assert "possible bias: about" in str(told)
    assert "possible bias" in told._repr_html_()
    assert told.to_dict()["strategy"] in str(told)


def test_an_error_can_be_asked_for_in_place_of_a_price(hospital: dt.Curator) -> None:
    count, average = "SELECT region, COUNT(*) FROM visits GROUP BY region", "SELECT AVG(age) FROM visits"
    answer = hospital.sql(count, error=100)
    assert answer.column("count").half_width <= 100
    assert not hospital.sql(count, error=100).charged
    wider = hospital.sql(count, error=100, confidence="0.999")
    assert wider.charged
    assert wider.column("count").half_width <= 100
    with pytest.raises(dt.ParameterError, match="only a profile"):
        hospital.sql(average, error=5)
    hospital.profile("visits", share="0.2")
    told = hospital.explain(average, error=5)
    assert "rows, as the profile says" in str(told)
    spent = hospital.budget("patients").spent.epsilon
    found = hospital.sql(average, error=5)
    assert 0 < hospital.budget("patients").spent.epsilon - spent < 20
    lower, upper = found.interval("avg_age")
    assert float(upper[0] - lower[0]) <= 2 * 5 * 1.5  # the group is about as large as assumed


def test_an_answer_is_scaled_up_and_says_so(hospital: dt.Curator) -> None:
    """What is shown is the stored release times the factor: with the same request, the same numbers."""
    hospital.profile("visits", share="0.5")
    text = "SELECT region, COUNT(*) AS n, SUM(age) AS years, AVG(age) AS mean FROM visits GROUP BY region"
    told = hospital.explain(text, epsilon="0.02").to_dict()
    assert told["adjusted"] > 1.01
    answer = hospital.sql(text, epsilon="0.02")
    priced = hospital._walk.price(text, epsilon="0.02")
    found = hospital._ledger.find(priced.question.people, None, priced.known_as, priced.snapshot, Charge(0))
    assert found is not None
    raw = {measure.measure: measure for measure in Released.from_bytes(found).measures}
    counted = raw[CountRows().text]
    assert float(Fraction(counted.mechanism["factor"])) == told["adjusted"]
    factor = Fraction(counted.mechanism["factor"])
    assert all(
        abs(shown - int(n) * factor) <= 0.5 for shown, n in zip(answer["n"].tolist(), counted.values, strict=True)
    )
    assert any(f"multiplied by {told['adjusted']:.6g}" in note for note in answer.notes)
    assert answer.column("n").half_width == pytest.approx(told["columns"][0]["expected_error"][0]["half_width"])
    plain = hospital.sql(text, epsilon="0.02", adjust=False)
    assert plain.charged
    assert not any("multiplied by" in note for note in plain.notes)


def test_a_profile_has_the_mean_of_each_column(hospital: dt.Curator) -> None:
    told = hospital.profile("visits", share="0.9").to_dict()["means"]["age"]
    assert told["lower"] < told["mean"] < told["upper"]
    assert told["mean"] == pytest.approx(40, abs=5)
    assert "mean:" in str(hospital.profiled("visits"))


def test_a_mean_is_over_the_values_that_are_there(make: Callable[..., dt.Curator]) -> None:
    """NULL is no value: nine rows of ten have none, and the others are far from the middle of what is declared."""
    owners = 4000
    fees = [100 if place % 10 == 0 else None for place in range(owners)]
    table = pa.table({"patient": np.arange(owners), "fee": fees, "none": pa.nulls(owners, pa.int64())})
    columns = {"fee": dt.Int(0, 10_000), "none": dt.Int(0, 10_000)}
    hospital = make(dt.PureDP(1000), table, max_rows_per_owner=2, columns=columns)
    told = hospital.profile("visits", share="0.5").to_dict()
    assert told["means"]["fee"]["mean"] == pytest.approx(100, abs=30)
    assert told["means"]["fee"]["upper"] < 1000
    assert "none" not in told["means"]
    known = hospital.profiled("visits").owners_of("fee")
    assert known == pytest.approx(400, abs=5)


def test_columns_that_conditions_read_are_known_from_the_profile(hospital: dt.Curator) -> None:
    hospital.profile("visits", share="0.9")
    priced = hospital._walk.price("SELECT COUNT(*) FROM visits WHERE age > 70", epsilon=1)
    (table,) = (table for table in priced.question.tables if isinstance(table, Table))
    known = profile_of(hospital._ledger, table, priced.question)
    assert known is not None
    assert set(known.columns) == {"age"}
    assert "after WHERE" in priced.strategy.why  # nobody is older than 60, of 120 that are declared


def test_values_are_clamped_to_what_the_profile_says_and_stay_so(make: Callable[..., dt.Curator]) -> None:
    """Repeats, other aliases and other confidences show the same release, computed over the clamped values."""
    drawn = np.random.default_rng(3)
    owners = 4000
    table = pa.table({"patient": np.arange(owners), "fee": drawn.integers(50, 150, owners), "ward": [0, 1] * 2000})
    columns = {"fee": dt.Int(0, 100_000, nullable=False, default=0), "ward": dt.Int(0, 1, nullable=False, default=0)}
    # So large a budget that the profile surely shows where the values lie; with a tenth of it, it does not in 6%.
    hospital = make(dt.PureDP(1000), pa.concat_tables([table, table]), max_rows_per_owner=2, columns=columns)
    text = "SELECT ward, SUM(fee) AS fees, AVG(fee) AS mean FROM visits GROUP BY ward"
    assert hospital._walk.price(text, epsilon=1).strategy.bounds == ()
    hospital.profile("visits", share="0.3")
    ((_, least, most),) = hospital._walk.price(text, epsilon=1).strategy.bounds
    assert 0 <= least < 60
    assert 140 < most < 5000
    told = hospital.explain(text, epsilon=1)
    assert f"of 0 to {100_000}" in str(told)
    assert all(column["possible_bias"] is None or column["possible_bias"] >= 0 for column in told.to_dict()["columns"])
    answer = hospital.sql(text, epsilon=1)
    assert any(f"Values of fee were moved into [{least}, {most}]" in note for note in answer.notes)
    exact = float(np.asarray(table["fee"]).sum())
    for fees, mean in zip(answer["fees"].tolist(), answer["mean"].tolist(), strict=True):
        assert fees == pytest.approx(exact, rel=0.1)
        assert mean == pytest.approx(100, rel=0.1)
    again = hospital.sql(text.replace("fees", "paid"), epsilon=1, confidence="0.5")
    assert not again.charged
    assert (again["paid"].tolist(), again["mean"].tolist()) == (answer["fees"].tolist(), answer["mean"].tolist())


def test_an_error_is_never_answered_by_a_stored_answer_that_errs_by_more(hospital: dt.Curator) -> None:
    """A release at a higher price may err by more: what a profile has told since makes the same error cheaper."""
    text = "SELECT COUNT(*) AS n FROM visits"
    dear = hospital.sql(text, epsilon=2)
    hospital.profile("visits", share="0.5")
    wanted = dear.column("n").half_width * 4 / 5
    assert hospital._walk.price(text, error=wanted).price.cost < 2
    found = hospital.sql(text, error=wanted, request="once")
    assert found.charged
    assert found.column("n").half_width <= wanted
    for again in (hospital.sql(text, error=wanted), hospital.sql(text, error=wanted, request="once")):
        assert not again.charged
        assert again["n"].tolist() == found["n"].tolist()
    assert not hospital.sql(text, error=dear.column("n").half_width).charged
    assert hospital.sql(text, epsilon=2)["n"].tolist() == dear["n"].tolist()


def test_an_average_from_a_centre_is_kept_with_it(make: Callable[..., dt.Curator]) -> None:
    drawn = np.random.default_rng(5)
    fees = np.minimum(drawn.exponential(100, 5000), 999).astype(int)
    columns = {"fee": dt.Int(0, 1000, nullable=False, default=0)}
    hospital = make(dt.PureDP(100), pa.table({"patient": np.arange(5000), "fee": fees}), columns=columns)
    hospital.profile("visits", share="0.3")
    text = "SELECT AVG(fee) AS mean FROM visits"
    ((_, centre),) = hospital._walk.price(text, epsilon=1).strategy.centres
    assert centre == pytest.approx(fees.mean(), rel=0.1)
    assert f"sum of differences from {centre}" in str(hospital.explain(text, epsilon=1))
    answer = hospital.sql(text, epsilon=1)
    assert answer["mean"][0] == pytest.approx(fees.mean(), rel=0.1)
    again = hospital.sql("SELECT AVG(fee) AS other FROM visits", epsilon=1, confidence="0.5")
    assert not again.charged
    assert again["other"][0] == answer["mean"][0]


@pytest.mark.parametrize("owner", ["m", "M", "n", "q", "bin"])
def test_owners_may_be_called_as_a_profile_calls_its_own(tmp_path: Path, owner: str) -> None:
    rows = pa.table({owner: [1, 1, 2], "age": [30, 31, 40]})
    with dt.Curator.open(tmp_path / "clinic") as curator:
        curator.people("patients", budget=dt.PureDP(1000))
        curator.register(
            "visits", rows, people="patients", owner=owner, max_rows_per_owner=4, columns={"age": dt.Int(0, 120)}
        )
        made = curator.profile("visits", share=1).to_dict()
    assert [part["owners"] for part in made["rows_per_owner"]] == [1, 1, 0]
