"""A study as everybody sees it: questions, price, aggregators, and the id that all reports are bound to."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from dither.errors import ParameterError
from dither.exact.parameters import positive
from dither.noise.request import scale_in_range
from dither.study.noise_shares import NoiseShare
from dither.study.prio import Prio3
from dither.study.questions import Question, read_question

VERSION = 1
_STATED = {"name", "epsilon", "least_reports", "most_reports", "noise", "honest", "questions", "aggregators"}
MOST_BYTES = 8 << 20  # of a report
_TAIL = Fraction(1, 10**12)  # the chance that noise is larger than what a field is checked to hold


@dataclass(frozen=True)
class Peer:
    """An aggregator: its address and the key that shares for it are sealed with."""

    url: str
    key: bytes

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(f"an aggregator has an address such as https://one.example; got {self.url!r}.")
        if len(self.key) != 32:
            raise ParameterError("the key of an aggregator is what `dither study key` prints.")


@dataclass(frozen=True)
class Study:
    """What is asked at what price, and who adds up. Its id is a hash of all of it."""

    name: str
    epsilon: Fraction
    questions: tuple[Question, ...]
    aggregators: tuple[Peer, ...]
    noise: NoiseShare
    least_reports: int
    most_reports: int
    committed: bytes  # to the key by which proofs are checked, which no participant may know beforehand

    def __post_init__(self) -> None:
        names = [question.name for question in self.questions]
        if not names or len(set(names)) != len(names):
            raise ParameterError("a study has questions, each with a name of its own.")
        if not 1 <= self.least_reports <= self.most_reports <= 10**9:
            raise ParameterError("least_reports and most_reports say how many reports make a study, 1 to 10^9.")
        if self.report_bytes > MOST_BYTES:
            raise ParameterError("a report of so many questions and labels is too long; ask less, or in two studies.")
        for question in self.questions:
            scale_in_range(self.scale(question), f"{question.name}: the scale of its noise")  # nothing is refused later
            # A sum is read between -p/2 and p/2: it must not reach beyond, with its noise.
            reached = self.most_reports * question.largest + self.noise.bound(self.scale(question), _TAIL)
            if 2 * reached >= question.circuit.field.modulus:
                raise ParameterError(f"{question.name}: so many reports could make a sum that the field cannot hold.")

    @cached_property
    def id(self) -> bytes:
        return sha256(json.dumps(self.document(), sort_keys=True).encode()).digest()

    def scale(self, question: Question) -> Fraction:
        """Of the discrete Laplace noise on each sum of a question: all questions of a report share epsilon."""
        return question.sensitivity * len(self.questions) / self.epsilon

    @cached_property
    def functions(self) -> tuple[Prio3, ...]:
        """How each question is shared, proven and summed; a report of another study or question proves nothing here."""
        return tuple(
            Prio3(question.circuit, self.id + place.to_bytes(2, "big"), len(self.aggregators))
            for place, question in enumerate(self.questions)
        )

    @cached_property
    def report_bytes(self) -> int:
        """The most that a report is over HTTP: its shares sealed and as text, and what stands around them."""
        around = 64 + 4 * len(self.questions)  # a sealed share is so much longer, with its lengths inside
        plain = sum(function.report_bytes for function in self.functions) + around * len(self.aggregators)
        return 4 * plain // 3 + 8 * (len(self.questions) + len(self.aggregators)) + 1024

    def document(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "name": self.name,
            "epsilon": str(self.epsilon),
            "questions": [question.document() for question in self.questions],
            "aggregators": [{"url": peer.url, "key": peer.key.hex()} for peer in self.aggregators],
            "noise": "split" if self.noise.split else "each",
            "honest": self.noise.honest,
            "least_reports": self.least_reports,
            "most_reports": self.most_reports,
            "committed": self.committed.hex(),
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Study:
        """A study from what `document` has written."""
        if document.get("version") != VERSION:
            raise ParameterError("this is no study that this version of dither reads.")
        stated = {name: value for name, value in document.items() if name not in ("version", "committed")}
        return stated_study(stated, bytes.fromhex(document["committed"]))


def stated_study(stated: Mapping[str, Any], committed: bytes) -> Study:
    """A study as its organiser states it."""
    unknown = set(stated) - _STATED
    if unknown or not {"name", "epsilon", "questions", "aggregators"} <= set(stated):
        raise ParameterError(
            "a study states name, epsilon, [[questions]] and [[aggregators]], and may state least_reports, "
            f"most_reports, noise and honest{f'; not {sorted(unknown)[0]!r}' if unknown else ''}."
        )
    peers = tuple(_peer(one) for one in _tables(stated, "aggregators"))
    if not 2 <= len(peers) < 256:
        raise ParameterError("a study has two aggregators or more, each run by somebody else.")
    if (noise := stated.get("noise", "each")) not in ("each", "split"):
        raise ParameterError('noise is "each" (one honest aggregator suffices) or "split" (`honest` of them must be).')
    name, epsilon = stated["name"], stated["epsilon"]
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
        raise ParameterError("a study has a name of at most 200 printable characters.")
    least, most, honest = (
        stated.get(key, default)
        for key, default in (("least_reports", 1), ("most_reports", 10**6), ("honest", len(peers) - 1))
    )
    if not all(isinstance(count, int) and not isinstance(count, bool) for count in (least, most, honest)):
        raise ParameterError("least_reports, most_reports and honest are whole numbers.")
    return Study(
        name,
        positive(epsilon, "epsilon"),
        tuple(map(read_question, _tables(stated, "questions"))),
        peers,
        NoiseShare(len(peers), honest, noise == "split"),
        least,
        most,
        committed,
    )


def read_toml(text: str) -> dict[str, Any]:
    """What a study's file states; numbers are exact."""
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"the study's file is not TOML: {error}.") from None


def _tables(stated: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = stated[name]
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ParameterError(f"{name} are written as [[{name}]] tables.")
    return found


def _peer(stated: Mapping[str, Any]) -> Peer:
    if set(stated) != {"url", "key"} or not all(isinstance(value, str) for value in stated.values()):
        raise ParameterError("an aggregator states url and key.")
    try:
        return Peer(stated["url"], bytes.fromhex(stated["key"]))
    except ValueError:
        raise ParameterError("the key of an aggregator is what `dither study key` prints.") from None
