"""Intervals as an analyst reads them: what they cover after limits, clamps, selections, and over many groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import dither as dt
from dither.answer import Answer, Value
from dither.answer.noisy_measures import NoisyMeasure, Released
from dither.curator import answer_columns, present
from dither.curator.answer_columns import Allowance, Columns
from dither.mechanisms import Laplace
from dither.sql.postprocess.histograms import Certified, Histogram
from dither.sql.postprocess.left_out import OF_PROFILE, LeftOut, Side
from dither.sql.pricing.price import PricedQuestion

SURE = Fraction(19, 20)
GROUPS = 400
# Owners with at least nine rows, counted with hardly any noise: each of them loses one row of at most nine.
_EXACTLY = {"mechanism": "Laplace", "epsilon": "800", "sensitivity": "1"}


def certified(owners: int) -> Certified:
    return Certified(9, (Histogram((9,), (owners,), _EXACTLY, Fraction(1)),))


def lost_rows(text: str, owners: int) -> LeftOut:
    """One row of each of so many owners may have been left out."""
    return LeftOut({text: (Side(), Side(rows=8, most=9, each=1))}, {"rows": certified(owners)})


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("columns") / "clinic"
    with dt.Curator.open(folder) as opened:
        opened.register(
            "visits",
            pa.table({"person": [1], "place": [1], "kind": ["a"], "age": [30]}),
            owner="person",
            max_rows_per_owner=9,
            budget=dt.ApproxDP(50, "1e-6", composition="basic"),
            columns={
                "place": dt.Int(1, GROUPS, nullable=False, default=1),
                "kind": dt.Text(),
                "age": dt.Int(0, 120, nullable=False, default=0),
            },
        )
        yield opened


def priced(curator: dt.Curator, text: str, **stated: Any) -> PricedQuestion:
    return curator._walk.price(text, **{"epsilon": 1, **stated})


def released(asked: PricedQuestion, *values: Any, left_out: LeftOut | None, keys: Any = None) -> bytes:
    noisy = [
        NoisyMeasure(item.measure.text, np.asarray(numbers), item.parameters())
        for item, numbers in zip(asked.measures, values, strict=True)
    ]
    document = None if left_out is None else left_out.document()
    return Released(asked.paid, noisy, keys, (), left_out=document).to_bytes()


BY_PLACE = "SELECT place, COUNT(*) AS n FROM visits GROUP BY place"


def noise_of(asked: PricedQuestion) -> Laplace:
    noise = asked.measures[0].mechanism
    assert isinstance(noise, Laplace)
    return noise


def interval(answer: Answer, name: str = "n") -> tuple[Any, Any]:
    lower, upper = answer.interval(name)
    return np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)


def test_the_interval_has_room_for_what_was_left_out_and_noise_has_not(curator: dt.Curator) -> None:
    asked = priced(curator, BY_PLACE)
    left_out = lost_rows(asked.measures[0].measure.text, 500)
    answer = present.present(asked.question, released(asked, np.full(GROUPS, 100), left_out=left_out), SURE)
    lower, upper = interval(answer)
    width = int(noise_of(asked).error("0.95"))
    assert answer.noise("n").lower[0] == 100 - width
    assert answer.noise("n").upper[0] == 100 + width
    assert 100 - lower[0] < width  # nearly all of the probability to miss may be used on one side
    assert upper[0] - 100 == (100 - lower[0]) + left_out.bounds(asked.measures[0].measure.text, Fraction(1, 200))[1]
    column = answer.column("n")
    assert isinstance(column, Value)
    assert column.left_out == "up to 500 rows left out"
    assert answer.covers == "each"


def covered(noise: Laplace, w: int, room: int, remainder: int) -> float:
    """How likely a number that is so much more is in [noisy - w, noisy + w + room], by the noise's distribution."""
    q = math.exp(-1 / float(noise.scale))
    far = 60 * math.ceil(noise.scale)
    outcomes = np.arange(-far, far + 1)
    chances = (1 - q) / (1 + q) * q ** np.abs(outcomes).astype(float)
    return float(chances[(outcomes - w <= remainder) & (outcomes + w + room >= remainder)].sum())


def check_coverage(curator: dt.Curator, confidence: Fraction) -> None:
    """Exact, from the distribution of the noise: what the profile may miss and what the noise misses is never more."""
    asked = priced(curator, "SELECT COUNT(*) AS n FROM visits")
    text = asked.measures[0].measure.text
    for owners in (0, 3, 40, 1000):
        left_out = lost_rows(text, owners)
        answer = present.present(asked.question, released(asked, [0], left_out=left_out), confidence)
        (lower,), (upper,) = interval(answer)
        room = left_out.bounds(text, (1 - confidence) / 10)[1] or 0
        w = int(-lower)
        for remainder in {0, room // 2, room}:
            sure = covered(noise_of(asked), w, int(upper) - w, remainder)
            assert sure >= float(confidence + (1 - confidence) / 10) - 1e-12, "it misses too often"


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.95", "0.99"])
def test_coverage_of_a_count_is_exact(curator: dt.Curator, confidence: str) -> None:
    check_coverage(curator, Fraction(confidence))


def test_planted_bug_the_profile_misses_for_nothing(curator: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeftOut, "certain", lambda self, measure: True)
    monkeypatch.setattr(LeftOut, "bounds", lambda self, measure, missed: (0, 40))
    with pytest.raises(AssertionError, match="too often"):
        check_coverage(curator, SURE)


def test_planted_bug_what_was_left_out_is_ignored(curator: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    class Blind(Columns):
        @property
        def left_out(self) -> LeftOut:
            return LeftOut()

    monkeypatch.setattr(present, "Columns", Blind)
    with pytest.raises(AssertionError, match="too often"):
        check_coverage(curator, SURE)


# -- rows that noise chose ---------------------------------------------------------------------------------------------

CHOSEN = {
    "HAVING": f"{BY_PLACE} HAVING COUNT(*) > 30",
    "LIMIT": f"{BY_PLACE} ORDER BY COUNT(*) DESC LIMIT 20",
    "OFFSET": f"{BY_PLACE} HAVING COUNT(*) > 10 ORDER BY n DESC LIMIT 30 OFFSET 5",
}


def check_chosen(curator: dt.Curator, text: str) -> None:
    """Groups of ten rows, of which noise lets some pass for many: of those shown, at most 5% may be missed."""
    asked = priced(curator, text, epsilon="0.6")
    noise, missed, shown = noise_of(asked), 0, 0
    for _ in range(60):
        noisy = np.asarray(noise.release(np.full(GROUPS, 10)).value)
        answer = present.present(asked.question, released(asked, noisy, left_out=LeftOut()), SURE)
        lower, upper = interval(answer)
        missed, shown = missed + int(((lower > 10) | (upper < 10)).sum()), shown + len(answer)
        assert answer.covers == "shown"
        assert "false coverage rate" in str(answer)
    assert shown > 500
    assert stats.binom.sf(missed - 1, shown, 0.05) > 1e-9, "chosen rows are missed too often"


@pytest.mark.parametrize("clause", CHOSEN)
def test_chosen_rows_are_missed_no_more_than_stated(curator: dt.Curator, clause: str) -> None:
    check_chosen(curator, CHOSEN[clause])


@pytest.mark.parametrize("clause", CHOSEN)
def test_planted_bug_chosen_rows_as_if_they_were_not(
    curator: dt.Curator, clause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def uncorrected(missed: Fraction, shown: Fraction = Fraction(1), groups: int | None = None) -> Allowance:
        return Allowance(missed, Fraction(1), groups)

    monkeypatch.setattr(present, "Allowance", uncorrected)
    with pytest.raises(AssertionError, match="too often"):
        check_chosen(curator, CHOSEN[clause])


def test_rows_that_public_keys_chose_need_no_correction(curator: dt.Curator) -> None:
    whole = priced(curator, BY_PLACE)
    stored = released(whole, np.arange(GROUPS), left_out=LeftOut())
    plain = present.present(whole.question, stored, SURE)
    for clause in ("HAVING place < 5", "LIMIT 4", "ORDER BY place DESC LIMIT 4", "ORDER BY COUNT(*)"):
        chosen = present.present(priced(curator, f"{BY_PLACE} {clause}").question, stored, SURE)
        assert chosen.covers == "each"
        assert chosen.column("n").half_width == plain.column("n").half_width  # type: ignore[union-attr]


# -- so many of the groups ---------------------------------------------------------------------------------------------


def check_groups(curator: dt.Curator) -> None:
    """The worst that the rows left out can do: as many groups as possible lose a little more than there is room for."""
    asked = priced(curator, BY_PLACE)
    text, noise = asked.measures[0].measure.text, noise_of(asked)
    for owners in (40, 400, 4000):
        left_out = lost_rows(text, owners)
        stored = released(asked, np.zeros(GROUPS, dtype=np.int64), left_out=left_out)
        answer = present.present(asked.question, stored, SURE, over_groups=True)
        (w, *_), (above, *_) = -interval(answer)[0], interval(answer)[1]
        room, lost = int(above - w), left_out.bounds(text, Fraction(1, 200))[1] or 0
        for each in {1, room, room + 1, 2 * room + 1, math.ceil(above) + 40}:
            losing = min(GROUPS, lost // max(1, each))
            sure = losing * covered(noise, int(w), room, each) + (GROUPS - losing) * covered(noise, int(w), room, 0)
            assert sure / GROUPS >= 0.955 - 1e-12, "too many groups are missed"
        assert answer.covers == "groups"


def test_so_many_of_the_groups_are_covered(curator: dt.Curator) -> None:
    check_groups(curator)


@pytest.mark.parametrize("factor", [Fraction(1, 3), Fraction(1, 20)])
def test_planted_bug_what_is_left_out_is_spread_evenly(
    curator: dt.Curator, factor: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = answer_columns._shared
    monkeypatch.setattr(answer_columns, "_shared", lambda ends, groups: original(ends, groups / factor))
    with pytest.raises(AssertionError, match="too many groups"):
        check_groups(curator)


def test_over_groups_is_shorter_where_they_are_many_and_never_the_default(curator: dt.Curator) -> None:
    asked = priced(curator, BY_PLACE)
    stored = released(asked, np.zeros(GROUPS, dtype=np.int64), left_out=lost_rows(asked.measures[0].measure.text, 4000))
    each, groups = (present.present(asked.question, stored, SURE, over_groups=over) for over in (False, True))
    assert interval(groups)[1][0] < interval(each)[1][0] / 4
    assert "in at least 95% of the groups, on average" in str(groups)
    assert each.covers == "each"


def test_coverage_is_asked_for_and_nothing_else_is_understood(curator: dt.Curator) -> None:
    asked = curator.sql(BY_PLACE, epsilon=1, rows_per_owner=3, coverage="groups")
    assert asked.limited == 3
    assert asked.covers == "groups"
    before = curator.budget("visits").spent
    again = curator.sql(BY_PLACE, epsilon=1, rows_per_owner=3)
    assert not again.charged
    assert again.covers == "each"
    for coverage in ("all", "", None, 3):
        with pytest.raises(dt.ParameterError, match="coverage"):
            curator.sql(BY_PLACE, epsilon=1, coverage=coverage)  # type: ignore[arg-type]
        with pytest.raises(dt.ParameterError, match="coverage"):
            curator.explain(BY_PLACE, epsilon=1, coverage=coverage)  # type: ignore[arg-type]
    assert curator.budget("visits").spent == before
    assert "so many of the groups" in curator.explain(BY_PLACE, epsilon=1, coverage="groups").content["notes"][-1]
    assert "so many of the groups" not in str(curator.explain(BY_PLACE, epsilon=1))


# -- other questions, other releases -----------------------------------------------------------------------------------


def test_a_limited_question_is_answered_under_its_own_name(curator: dt.Curator) -> None:
    asked = priced(curator, "SELECT COUNT(*) AS n FROM visits")
    text = asked.measures[0].measure.text
    stored = released(asked, [200], left_out=lost_rows(text, 500))
    answer = present.present(asked.question, stored, SURE, rows_per_owner=8)
    width = int(noise_of(asked).error("0.95"))
    shown = str(answer)
    assert f"200 ± {width} (all rows: " in shown
    assert "up to 500 rows left out)" in shown
    assert "counting at most 8 rows of each owner: ± holds the exact number with probability 95%" in shown
    unknown = LeftOut({text: (Side(), Side(unknown=True))})
    opened = present.present(asked.question, released(asked, [200], left_out=unknown), SURE, rows_per_owner=8)
    assert f"200 ± {width} (all rows: at least 1" in str(opened)
    assert opened.interval("n").upper[0] == math.inf
    nothing = present.present(asked.question, released(asked, [200], left_out=LeftOut()), SURE, rows_per_owner=8)
    assert nothing.limited is None
    assert "(all rows" not in str(nothing)


def test_an_open_side_is_said_and_has_no_plus_minus(curator: dt.Curator) -> None:
    asked = priced(curator, "SELECT COUNT(*) AS n FROM visits")
    unknown = LeftOut({asked.measures[0].measure.text: (Side(), Side(unknown=True))})
    answer = present.present(asked.question, released(asked, [200], left_out=unknown), SURE)
    row = str(answer).splitlines()[2]
    assert "200 at least 1" in row
    assert "any number of rows left out" in row
    assert row.count("±") == 1  # that of the noise
    assert '"n_upper": null' in answer.to_json()
    assert answer.to_pandas(intervals=True)["n_upper"][0] == math.inf


def test_a_release_that_does_not_say_covers_the_noise_alone(curator: dt.Curator) -> None:
    asked = priced(curator, "SELECT COUNT(*) AS n FROM visits")
    item = asked.measures[0]
    mechanism = {**item.parameters(), "factor": "3/2"}
    stored = Released(asked.paid, [NoisyMeasure(item.measure.text, np.array([200]), mechanism)]).to_bytes()
    answer = present.present(asked.question, stored, SURE, over_groups=True)
    assert answer["n"].tolist() == [300]
    assert answer.covers == "noise"
    assert "± holds the noise alone with probability 95%; what was left out is not in it" in str(answer)
    assert any("multiplied by 1.5" in note for note in answer.notes)


def test_a_quantile_stands_in_ranks(curator: dt.Curator) -> None:
    asked = priced(curator, "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) AS old FROM visits")
    text, mechanism = asked.measures[0].measure.text, asked.measures[0].mechanism
    plain = present.present(asked.question, released(asked, [80], left_out=LeftOut()), SURE)
    own = math.ceil(mechanism.rank_error("0.95"))  # type: ignore[union-attr]
    assert f"old: the exact value stands from {own} ranks below to {own} above, with probability 95%." in plain.notes
    some = present.present(asked.question, released(asked, [80], left_out=lost_rows(text, 1000)), SURE)
    less = mechanism.rank_error(1 - (1 - SURE) * (1 - OF_PROFILE))  # type: ignore[union-attr]
    below, above = math.ceil(less + 100), math.ceil(less + 900)
    assert any(f"from {below:,} ranks below to {above:,} above" in note for note in some.notes)
    with pytest.raises(dt.ParameterError):
        some.interval("old")


def test_no_key_says_why_and_what_it_cost(curator: dt.Curator) -> None:
    asked = priced(curator, "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind", delta="1e-9")
    nothing = np.array([], dtype=np.int64)
    stored = released(asked, nothing, nothing, left_out=LeftOut(), keys=([],))
    answer = present.present(asked.question, stored, SURE)
    threshold = asked.measures[0].mechanism.threshold  # type: ignore[union-attr]
    (said,) = [note for note in answer.notes if note.startswith("No key is shown")]
    assert f"at least {threshold} owners" in said
    assert "delta 1e-09" in said


def test_the_count_that_chose_the_keys_holds_among_those_shown(curator: dt.Curator) -> None:
    text = (
        "SELECT kind, COUNT(DISTINCT person) AS owners, COUNT(*) AS n, COUNT(DISTINCT person) / 2 AS half "
        "FROM visits GROUP BY kind"
    )
    asked = priced(curator, text, delta="1e-9")
    selection = asked.measures[0].mechanism
    threshold = selection.threshold  # type: ignore[union-attr]
    far = threshold + 4000
    keys = (["a", "b"],)
    stored = released(asked, np.array([far, threshold]), np.array([950, 950]), left_out=LeftOut(), keys=keys)
    answer = present.present(asked.question, stored, SURE)
    width = int(selection.noise.error("0.95"))  # type: ignore[union-attr]
    (far_below, near_below), (far_above, _) = interval(answer, "owners")
    assert (far_below, far_above) == (far - width, far + width)
    assert near_below == 1  # as good as nobody may have been lifted over the threshold
    assert answer.noise("owners").lower.tolist() == [far - width, threshold - width]
    assert "half: its interval is that of its noise before the keys were chosen by it" in str(answer)
    assert "n: its interval" not in str(answer)
    assert "owners: its interval" not in str(answer)


def test_what_is_kept_of_an_error_asked_for(curator: dt.Curator) -> None:
    asked = priced(curator, "SELECT COUNT(*) AS n, AVG(age) AS mean FROM visits")
    text = asked.question.outputs[0].aggregate.measures()[0].text
    makers: list[Callable[[], LeftOut]] = [LeftOut, lambda: lost_rows(text, 500)]
    plain, limited = (released(asked, *([[0]] * len(asked.measures)), left_out=make()) for make in makers)
    for error, keeps in ((Fraction(200), (True, False)), (Fraction(800), (True, True)), (Fraction(1), (False, False))):
        assert tuple(present.keeps(asked.question, stored, error, SURE) for stored in (plain, limited)) == keeps
    unknown = released(asked, *([[0]] * len(asked.measures)), left_out=LeftOut({text: (Side(), Side(unknown=True))}))
    assert present.keeps(asked.question, unknown, Fraction(200), SURE)  # of the rows that count
