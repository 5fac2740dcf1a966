"""One aggregator: it opens its shares, checks proofs together with the others, and releases a noisy share once."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from dither.errors import ParameterError
from dither.ledger import Charge, Ledger
from dither.study.batch import REFUSED, VALID, Batch
from dither.study.errors import InvalidReport, StudyClosed, TooFewReports
from dither.study.keys import read_key
from dither.study.prio import VerifyState
from dither.study.prio.fields import Vector
from dither.study.reports import Report, open_share
from dither.study.study import Study

Told = list[bytes]  # verifier shares, one for each question


@dataclass(frozen=True)
class Secrets:
    """What aggregators share and participants must not know: the key that picks what a proof is asked, and the hashes
    of all invitations."""

    verify_key: bytes
    invitations: frozenset[bytes]

    def word(self, purpose: str) -> str:
        """A password between those who hold the key."""
        return hmac.new(self.verify_key, f"dither study {purpose}".encode(), "sha256").hexdigest()

    def document(self) -> dict[str, Any]:
        return {"verify_key": self.verify_key.hex(), "invitations": sorted(one.hex() for one in self.invitations)}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Secrets:
        return cls(bytes.fromhex(document["verify_key"]), frozenset(map(bytes.fromhex, document["invitations"])))


class Aggregator:
    """Aggregator `number` of a study, with its folder, in which reports, key and ledger lie.

    With the ledger's `anchor` kept elsewhere, an older copy of the folder is refused: it would release its share again,
    with other noise.
    """

    def __init__(
        self, folder: Path, study: Study, secrets: Secrets, number: int, anchor: Path | str | None = None
    ) -> None:
        if not 0 <= number < len(study.aggregators):
            raise ParameterError(f"aggregators are numbered from 0 to {len(study.aggregators) - 1}; got {number}.")
        if sha256(secrets.verify_key).digest() != study.committed:
            raise ParameterError("the verify key is not the one that the study is committed to.")
        self.study, self.secrets, self.number = study, secrets, number
        self._key = read_key(folder)
        if self._key.public_key().public_bytes_raw() != study.aggregators[number].key:
            raise ParameterError(f"the key in this folder is not that of aggregator {number}.")
        self._ledger = Ledger.open(folder / "ledger", anchor=anchor, create=True)
        self.batch = Batch(folder / f"reports-{study.id.hex()}.sqlite")  # no report is ever another study's
        self._people = study.id.hex()
        self._ledger.open_account(
            self._people, None, kind="pure", cap=Charge(study.epsilon), terms={"study": study.name}
        )
        self._releasing = Lock()

    # -- reports come in

    def receive(self, reports: Sequence[Report]) -> list[bool]:
        """Keep reports; each counts once all aggregators find its proof right. False for those that are refused."""
        fit = [self._fits(report) for report in reports]
        rows = [
            (report.nonce, report.invitation, _digest(report), json.dumps(report.document()))
            for report, fits in zip(reports, fit, strict=True)
            if fits
        ]
        kept = iter(self.batch.add(rows))
        return [fits and next(kept) for fits in fit]

    def _fits(self, report: Report) -> bool:
        """Whether it is invited, and has a share for each aggregator and a public one for each question."""
        invited = sha256(report.invitation).digest() in self.secrets.invitations
        sizes = len(report.sealed), len(report.public)
        return invited and sizes == (len(self.study.aggregators), len(self.study.questions))

    # -- proofs are checked

    def begin(self, report: Report) -> tuple[list[VerifyState], Told]:
        """What this aggregator keeps of a report, and what it tells the others."""
        pieces = open_share(self.study, report, self.number, report.sealed[self.number], self._key)
        states, told = [], []
        for function, public, piece in zip(self.study.functions, report.public, pieces, strict=True):
            state, words = function.verify_init(self.secrets.verify_key, self.number, report.nonce, public, piece)
            states.append(state)
            told.append(words)
        return states, told

    def finish(self, states: Sequence[VerifyState], told: Sequence[Told]) -> bytes:
        """This aggregator's share of what is summed, from what all have told; refused unless all proofs hold."""
        if any(len(words) != len(states) for words in told):
            raise InvalidReport("an aggregator tells as many words as there are questions.")
        outputs = []
        for place, (function, state) in enumerate(zip(self.study.functions, states, strict=True)):
            message = function.verifier_shares_to_message([words[place] for words in told])
            outputs.append(function.field.encode(function.verify_next(state, message)))
        return b"".join(outputs)

    def told(self, reports: Sequence[Report]) -> list[Told | None]:
        """As `begin`, for a helper: it keeps the reports first; None for one that is wrong, whatever others say."""
        found: list[Told | None] = []
        wrong = []
        for report, kept in zip(reports, self.receive(reports), strict=True):
            try:
                found.append(self.begin(report)[1] if kept else None)  # another may rightly have this nonce
            except InvalidReport:
                wrong.append(report.nonce)
                found.append(None)
        self.batch.decide((nonce, None) for nonce in wrong)
        return found

    def check(self, told: Sequence[tuple[bytes, Sequence[Told]]]) -> list[bool]:
        """As `finish`, for a helper: which reports, by nonce, count here. What is decided stays so."""
        decided: dict[bytes, bytes | None] = {}
        for nonce, words in told:
            row = self.batch.row(nonce)
            if row is not None and row.state not in (VALID, REFUSED):
                try:
                    states, own = self.begin(Report.read(json.loads(row.content)))
                    if list(words[self.number : self.number + 1]) != [own]:
                        raise InvalidReport("what this aggregator is said to have told is not what it told.")
                    decided[nonce] = self.finish(states, words)
                except InvalidReport:
                    decided[nonce] = None
        self.batch.decide(decided.items())
        rows = [self.batch.row(nonce) for nonce, _ in told]
        return [row is not None and row.state == VALID for row in rows]

    # -- the sums go out

    def agreed(self, nonces: Sequence[bytes]) -> bytes:
        """The digest of a batch whose reports are all valid here; the same at every aggregator that sees the same."""
        if len(set(nonces)) != len(nonces):
            raise InvalidReport("a batch names each report once.")
        if len(nonces) < self.study.least_reports:
            raise TooFewReports(self.study.least_reports)
        if len(nonces) > self.study.most_reports:
            raise InvalidReport("the batch has more reports than sums are sure to hold.")
        known = dict(self.batch.valid())
        if not known.keys() >= set(nonces):
            raise InvalidReport("the batch has a report that is not valid here.")
        return sha256(b"".join(nonce + known[nonce] for nonce in sorted(nonces))).digest()

    def release(self, nonces: Sequence[bytes], batch: bytes) -> bytes:
        """The noisy share of the sums over these reports, made once: a repeat has the same bytes.

        The price is charged first; the noisy share is in the ledger before it is sent.
        """
        if self.agreed(nonces) != batch:
            raise InvalidReport("the reports of the batch are not the same here.")
        with self._releasing:
            if self.batch.close_with(batch, nonces) != batch:
                raise StudyClosed
            reservation = self._ledger.reserve(
                self._people,
                None,
                Charge(self.study.epsilon),
                question=batch.hex(),
                snapshot=self._people,
                plan="noisy sums",
                request="release",
            )
            if reservation.answer is not None:
                return reservation.answer
            return self._ledger.settle(reservation.id, noisy_share(self.study, self.sums(nonces)))

    def sums(self, nonces: Sequence[bytes]) -> list[Vector]:
        """This aggregator's share of the sums of each question over these reports, without noise: not to be sent."""
        totals = [[0] * function.circuit.output for function in self.study.functions]
        for nonce in nonces:  # one by one: all of them may be more than fits in memory
            output, start = self.batch.output(nonce), 0
            for place, function in enumerate(self.study.functions):
                size = function.circuit.output * function.field.size
                vector = function.field.decode(output[start : start + size], function.circuit.output)
                totals[place], start = function.field.plus(totals[place], vector), start + size
        return totals

    def close(self) -> None:
        self.batch.close()
        self._ledger.close()


def noisy_share(study: Study, sums: Sequence[Vector]) -> bytes:
    """One aggregator's shares of all sums, each with noise of its own."""
    made = []
    for question, function, vector in zip(study.questions, study.functions, sums, strict=True):
        modulus = function.field.modulus
        noise = [one % modulus for one in study.noise.draw(study.scale(question), len(vector))]
        made.append(function.field.encode(function.aggregate([vector, noise])))
    return b"".join(made)


def _digest(report: Report) -> bytes:
    """Of a report as all aggregators see it."""
    return sha256(json.dumps(report.document(), sort_keys=True).encode()).digest()
