"""Aggregators: what they take, what they refuse, and that sums are released once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt, ParameterError
from dither.ledger import Ledger
from dither.study.aggregator import Aggregator, Secrets, noisy_share
from dither.study.errors import InvalidReport, StudyClosed, TooFewReports
from dither.study.noise_shares import NoiseShare
from dither.study.prio import Prio3
from dither.study.reports import Report, make_report, open_share
from dither.study.result import Result
from dither.study.study import Study

Made = Callable[..., Any]


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, so that sums can be compared."""
    monkeypatch.setattr(NoiseShare, "draw", lambda self, scale, size: [0] * size)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("aggregators", [2, 3])
def test_sums_are_exact_before_noise(made: Made, aggregators: int) -> None:
    parties = made(aggregators)
    reports = [parties.report(), parties.report(smokes="no", ward="south", age=20, symptoms=[])]
    assert parties.check(reports) == [True, True]
    result = Result.of(parties.study, 2, parties.release(reports))
    assert result.counts("smokes") == {"smokes": 1}
    assert result.counts("ward") == {"north": 0, "east": 1, "south": 1}
    assert result.counts("symptoms") == {"cough": 1, "fever": 0, "pain": 0}
    assert result.mean("age") == 31.5


def test_a_release_is_made_once_and_repeats_have_the_same_bytes(parties: Any) -> None:
    reports = [parties.report(), parties.report()]
    parties.check(reports)
    first = parties.release(reports)
    assert parties.release(reports) == first
    with pytest.raises(StudyClosed):
        parties.release(reports[:1])
    reopened = parties.aggregators[0]
    reopened.close()
    again = Aggregator(parties.folders[0], parties.study, parties.secrets, 0)
    nonces = [report.nonce for report in reports]
    assert again.release(nonces, again.agreed(nonces)) == first[0]
    again.close()
    with Ledger.open(parties.folders[0] / "ledger") as ledger:
        assert ledger.balance(parties.study.id.hex()).left.cost == 0


def check_an_older_copy_is_refused(parties: Any, safe: Path) -> None:
    """A copy from before the release, which would draw the noise anew."""
    safe.mkdir(mode=0o700)
    parties.aggregators[0].close()
    folder = parties.folders[0]
    shutil.rmtree(folder / "ledger")
    parties.aggregators[0] = Aggregator(folder, parties.study, parties.secrets, 0, safe / "one.anchor")
    reports = [parties.report(), parties.report()]
    parties.check(reports)
    parties.aggregators[0].close()
    shutil.copytree(folder, safe / "monday")
    parties.aggregators[0] = Aggregator(folder, parties.study, parties.secrets, 0, safe / "one.anchor")
    parties.release(reports)
    parties.aggregators[0].close()
    shutil.rmtree(folder)
    shutil.copytree(safe / "monday", folder)
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        Aggregator(folder, parties.study, parties.secrets, 0, safe / "one.anchor").close()


def test_an_older_copy_of_an_aggregator_is_refused(made: Made, tmp_path: Path) -> None:
    check_an_older_copy_is_refused(made(), tmp_path / "safe")


def test_planted_an_anchor_in_the_folder(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Ledger.open
    monkeypatch.setattr(Ledger, "open", lambda folder, *, anchor=None, create=False: real(folder, create=create))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_an_older_copy_is_refused(made(), tmp_path / "safe")


def test_a_result_is_made_of_whole_shares_and_as_many_reports_as_the_study_takes(made: Made) -> None:
    """A leader that answers nonsense."""
    parties = made(least_reports=2, most_reports=100)
    reports = [parties.report(), parties.report()]
    parties.check(reports)
    shares = parties.release(reports)
    for wrong in (shares[:1], [shares[0], shares[1][:-1]], [shares[0], shares[1] + b"0"], []):
        with pytest.raises(ParameterError, match="whole share"):
            Result.of(parties.study, 2, wrong)
    for count in (0, 1, 101, True, "2", 2.0):
        with pytest.raises(ParameterError, match="2 to 100 reports"):
            Result.of(parties.study, count, shares)


def test_noise_is_on_every_share(made: Made) -> None:
    """What leaves an aggregator is its share of the sums with noise: never the share itself, in ten studies of one."""
    parties = made(epsilon="1/2")
    reports = [parties.report()]
    parties.check(reports)
    for one, released in zip(parties.aggregators, parties.release(reports), strict=True):
        sums = one.sums([reports[0].nonce])
        exact = b"".join(f.field.encode(v) for f, v in zip(parties.study.functions, sums, strict=True))
        assert released != exact
        assert len({exact, released, *(noisy_share(parties.study, sums) for _ in range(10))}) == 12


@pytest.mark.usefixtures("silent")
def test_planted_shares_without_noise(made: Made) -> None:
    with pytest.raises(AssertionError):
        test_noise_is_on_every_share(made)


def test_a_crash_between_charge_and_noise_charges_once(parties: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = [parties.report()]
    parties.check(reports)
    leader, nonces = parties.aggregators[0], [reports[0].nonce]

    def dies(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as crash:
        crash.setattr("dither.study.aggregator.noisy_share", dies)
        with pytest.raises(KeyboardInterrupt):
            leader.release(nonces, leader.agreed(nonces))
    first = leader.release(nonces, leader.agreed(nonces))
    assert leader.release(nonces, leader.agreed(nonces)) == first
    assert leader._ledger.balance(parties.study.id.hex()).left.cost == 0


def test_planted_noise_that_is_drawn_anew_for_a_retry(parties: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of many noisy shares would be the share."""

    def release(self: Aggregator, nonces: Any, batch: bytes) -> bytes:
        return noisy_share(self.study, self.sums(nonces))

    monkeypatch.setattr(Aggregator, "release", release)
    with pytest.raises(AssertionError):
        test_a_release_is_made_once_and_repeats_have_the_same_bytes(parties)


def test_what_becomes_valid_while_a_study_closes_changes_no_retry(parties: Any) -> None:
    """A report that is checked while the batch is being closed: the batch is remembered, not computed anew."""
    early, late = [parties.report()], [parties.report()]
    parties.check(early)
    leader, helper = parties.aggregators
    batch = leader.agreed([early[0].nonce])
    parties.check(late)
    first = leader.release([early[0].nonce], batch)
    assert len(leader.batch.valid()) == 2
    nonces = leader.batch.closed_with()
    assert nonces == [early[0].nonce]
    assert leader.release(nonces, leader.agreed(nonces)) == first
    assert helper.release(nonces, batch)


def test_reports_of_one_study_are_never_anothers(parties: Any) -> None:
    """An aggregator with one key and folder for two studies."""
    parties.check([parties.report()])
    again = replace(parties.study, name="another")
    other = Aggregator(parties.folders[0], again, parties.secrets, 0)
    assert other.batch.counts() == {}
    other.close()


def test_a_helper_stands_by_what_it_told(parties: Any) -> None:
    """A leader that says for others what suits it."""
    report = parties.report()
    leader, helper = parties.aggregators
    leader.receive([report])
    told = [leader.begin(report)[1], helper.told([report])[0]]
    assert helper.check([(report.nonce, [told[1], told[0]])]) == [False]
    fresh = parties.report()
    told = [leader.begin(fresh)[1], helper.told([fresh])[0]]
    assert helper.check([(fresh.nonce, told)]) == [True]


def test_late_reports_are_refused(parties: Any) -> None:
    reports = [parties.report()]
    parties.check(reports)
    parties.release(reports)
    with pytest.raises(StudyClosed):
        parties.aggregators[0].receive([parties.report()])


def test_an_invitation_is_good_for_one_report(parties: Any) -> None:
    first = parties.report()
    second = make_report(parties.study, first.invitation, {**first_answers(), "smokes": "no"})
    leader = parties.aggregators[0]
    assert leader.receive([first, second]) == [True, False]
    assert leader.receive([first]) == [True]  # the same report again is no harm
    stranger = replace(parties.report(), invitation=bytes(16))
    assert leader.receive([stranger]) == [False]


def first_answers() -> dict[str, Any]:
    return {"smokes": "yes", "ward": "east", "age": 43, "symptoms": ["cough"]}


def test_a_nonce_stands_for_one_report(parties: Any) -> None:
    first, second = parties.report(), parties.report()
    swapped = replace(second, nonce=first.nonce)
    leader = parties.aggregators[0]
    assert leader.receive([first, swapped]) == [True, False]


@pytest.mark.parametrize("part", ["nonce", "invitation", "public", "sealed"])
def test_a_share_opens_where_it_was_sealed_for_only(parties: Any, part: str) -> None:
    one, other = parties.report(), parties.report()
    moved: Report = (
        replace(other, sealed=one.sealed) if part == "sealed" else replace(one, **{part: getattr(other, part)})
    )
    with pytest.raises(InvalidReport):
        parties.aggregators[0].begin(moved)
    with pytest.raises(InvalidReport):
        open_share(parties.study, one, 0, one.sealed[1], parties.aggregators[0]._key)


def test_a_wrong_report_counts_nowhere(parties: Any, made: Made) -> None:
    """Shares of two reports under one public share: sealed rightly, but proofs do not hold."""
    good = parties.report()
    elsewhere = made()
    bad = make_report(replace(parties.study, name="another"), parties.invitations.pop(), first_answers())
    assert elsewhere.study.id != parties.study.id
    leader, helper = parties.aggregators
    assert leader.receive([good, bad]) == [True, True]
    assert [one is None for one in helper.told([good, bad])] == [False, True]
    with pytest.raises(InvalidReport):
        leader.begin(bad)


@pytest.mark.parametrize("part", ["nonce", "invitation", "public", "sealed"])
def test_a_flipped_bit_anywhere_is_refused(parties: Any, part: str) -> None:
    """Every byte of the short parts, and bytes all over the sealed shares, of which an aggregator opens its own."""
    report = parties.report()
    whole = getattr(report, part)
    pieces = [whole] if isinstance(whole, bytes) else list(whole)
    for number, piece in enumerate(pieces):
        for place in range(0, len(piece), max(1, len(piece) // 16)):
            changed = piece[:place] + bytes([piece[place] ^ 1 << place % 8]) + piece[place + 1 :]
            altered = changed if isinstance(whole, bytes) else (*pieces[:number], changed, *pieces[number + 1 :])
            wrong = replace(report, **{part: altered})
            refused = 0
            for aggregator in parties.aggregators:
                try:
                    aggregator.begin(wrong)
                except InvalidReport:
                    refused += 1
            assert refused == (1 if part == "sealed" else 2)


def test_planted_shares_sealed_to_nothing_in_particular(parties: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.study.reports.bound_to", lambda study, report, number: b"dither study")
    with pytest.raises(AssertionError):
        test_a_flipped_bit_anywhere_is_refused(parties, "invitation")


def test_fewer_reports_than_the_study_needs_release_nothing(made: Made) -> None:
    parties = made(least_reports=2)
    reports = [parties.report()]
    parties.check(reports)
    with pytest.raises(TooFewReports):
        parties.release(reports)
    assert not parties.aggregators[0].batch.closed()


def test_planted_a_batch_below_the_minimum(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Aggregator, "agreed", lambda self, nonces: bytes(32))
    with pytest.raises(pytest.fail.Exception):
        test_fewer_reports_than_the_study_needs_release_nothing(made)


@pytest.mark.usefixtures("silent")
def test_a_negative_sum_is_read_as_one(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are centred: read from 0 on, a negative one would be huge."""
    monkeypatch.setattr(NoiseShare, "draw", lambda self, scale, size: [-5] * size)
    parties = made()
    reports = [parties.report(smokes="no")]
    parties.check(reports)
    assert Result.of(parties.study, 1, parties.release(reports)).counts("smokes") == {"smokes": -10}


def test_aggregators_must_see_the_same_batch(parties: Any) -> None:
    reports = [parties.report(), parties.report()]
    parties.check(reports)
    leader, helper = parties.aggregators
    batch = leader.agreed([report.nonce for report in reports])
    with pytest.raises(InvalidReport):
        helper.release([reports[0].nonce], batch)
    with pytest.raises(InvalidReport):
        helper.release([reports[0].nonce] * 2, batch)
    helper.batch.refuse([reports[1].nonce])
    with pytest.raises(InvalidReport):
        helper.release([report.nonce for report in reports], batch)


def test_keys_are_the_ones_the_study_is_committed_to(parties: Any) -> None:
    leader = parties.aggregators[0]
    wrong = Secrets(bytes(32), leader.secrets.invitations)
    with pytest.raises(ParameterError, match="verify key"):
        Aggregator(parties.folders[0], parties.study, wrong, 0)
    with pytest.raises(ParameterError, match="not that of aggregator 1"):
        Aggregator(parties.folders[0], parties.study, leader.secrets, 1)
    for number in (-1, 2):
        with pytest.raises(ParameterError, match="numbered"):
            Aggregator(parties.folders[0], parties.study, leader.secrets, number)


def test_sums_may_not_reach_beyond_the_field(made: Made) -> None:
    with pytest.raises(ParameterError, match="field cannot hold"):
        made(
            questions=[{"name": "wealth", "kind": "number", "least": 0, "most": 1 << 40}],
            most_reports=10**9,
            epsilon="1/1000000",
        )


@pytest.mark.parametrize("epsilon", ["5000", "1e-20"])
def test_noise_that_cannot_be_drawn_is_refused_before_anybody_takes_part(made: Made, epsilon: str) -> None:
    """Not as the study closes, when epsilon is charged already."""
    with pytest.raises(ParameterError, match="the scale of its noise"):
        made(questions=[{"name": "smokes", "kind": "yes/no"}], epsilon=epsilon)


def test_a_batch_has_no_more_reports_than_sums_hold(made: Made) -> None:
    with pytest.raises(ParameterError, match="most_reports"):
        made(most_reports=59)  # sixty are invited
    parties = made()
    reports = [parties.report(), parties.report()]
    parties.check(reports)
    leader = parties.aggregators[0]
    leader.study = replace(parties.study, most_reports=1)
    with pytest.raises(InvalidReport, match="more reports"):
        leader.agreed([report.nonce for report in reports])


def test_a_report_is_as_long_as_the_study_says(made: Made) -> None:
    """Nothing longer is read over HTTP."""
    for aggregators in (2, 3):
        parties = made(aggregators)
        sent = len(json.dumps(parties.report().document()))
        assert sent <= parties.study.report_bytes < sent + 2000
    labels = [str(number) for number in range(10_000)]
    questions = [{"name": str(number), "kind": "choice", "choices": labels} for number in range(40)]
    with pytest.raises(ParameterError, match="too long"):
        made(questions=questions)


def test_planted_a_field_that_is_not_checked(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that wrap around would be taken for others."""
    monkeypatch.setattr(Study, "__post_init__", lambda self: None)
    with pytest.raises(pytest.fail.Exception):
        test_sums_may_not_reach_beyond_the_field(made)


def test_planted_sums_that_are_not_centred(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def unshard(self: Prio3, shares: Any) -> list[int]:
        return self.aggregate([self.field.decode(share, self.circuit.output) for share in shares])

    monkeypatch.setattr(Prio3, "unshard", unshard)
    with pytest.raises(AssertionError):
        test_a_negative_sum_is_read_as_one(made, monkeypatch)


@pytest.mark.parametrize("confidence", ["0", "1", "2", float("nan")])
def test_a_confidence_lies_between_0_and_1(parties: Any, confidence: Any) -> None:
    result = Result(parties.study, 2, ((1,), (0, 1, 1), (50,), (1, 0, 0)))
    with pytest.raises(ParameterError):
        result.interval("smokes", confidence)
