"""What a study asks, and how far one report can move each sum.

The relation is: the content of one report is replaced. Who takes part is public, and so is how many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar

from dither.errors import ParameterError
from dither.study.prio import Circuit, Count, Histogram, MultihotCountVec, Sum

MOST_LABELS = 10_000
LARGEST = 1 << 40  # of a number's range


@dataclass(frozen=True)
class Question(ABC):
    """One question of a study."""

    kind: ClassVar[str]
    name: str

    @property
    @abstractmethod
    def circuit(self) -> Circuit:
        """What proves that an answer is in its range."""

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """The L1 distance between what two reports can add to the sums."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """The most that one report adds to a sum."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What each sum counts."""
        return (self.name,)

    @abstractmethod
    def measurement(self, answer: Any) -> Any:
        """An answer as it is summed."""

    def document(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name}


@dataclass(frozen=True)
class YesNo(Question):
    """Yes or no: how many say yes."""

    kind = "yes/no"
    circuit = Count()
    sensitivity = largest = 1

    def measurement(self, answer: Any) -> int:
        known = {True: 1, False: 0, "yes": 1, "no": 0}
        if not isinstance(answer, (bool, str)) or answer not in known:
            raise ParameterError(f"{self.name} is answered by yes or no.")
        return known[answer]


@dataclass(frozen=True)
class Choice(Question):
    """One of several labels: how many choose each."""

    kind = "choice"
    choices: tuple[str, ...]
    sensitivity = 2
    largest = 1

    def __post_init__(self) -> None:
        _check_labels(self.name, self.choices)

    @property
    def circuit(self) -> Circuit:
        return Histogram(len(self.choices), isqrt(len(self.choices)))

    @property
    def labels(self) -> tuple[str, ...]:
        return self.choices

    def measurement(self, answer: Any) -> int:
        if answer not in self.choices:
            raise ParameterError(f"{self.name} is answered by one of {', '.join(self.choices)}.")
        return self.choices.index(answer)

    def document(self) -> dict[str, Any]:
        return {**super().document(), "choices": list(self.choices)}


@dataclass(frozen=True)
class Choices(Question):
    """At most `most` of several labels: how many choose each."""

    kind = "choices"
    choices: tuple[str, ...]
    most: int
    largest = 1

    def __post_init__(self) -> None:
        _check_labels(self.name, self.choices)
        if not 1 <= self.most <= len(self.choices):
            raise ParameterError(f"{self.name}: most is how many labels may be chosen, 1 to {len(self.choices)}.")

    @property
    def circuit(self) -> Circuit:
        return MultihotCountVec(len(self.choices), self.most, isqrt(len(self.choices)))

    @property
    def sensitivity(self) -> int:
        return min(2 * self.most, len(self.choices))

    @property
    def labels(self) -> tuple[str, ...]:
        return self.choices

    def measurement(self, answer: Any) -> list[bool]:
        chosen = set(answer.split(",")) - {""} if isinstance(answer, str) else set(answer)
        if not chosen <= set(self.choices) or len(chosen) > self.most:
            raise ParameterError(f"{self.name} is answered by at most {self.most} of {', '.join(self.choices)}.")
        return [choice in chosen for choice in self.choices]

    def document(self) -> dict[str, Any]:
        return {**super().document(), "choices": list(self.choices), "most": self.most}


@dataclass(frozen=True)
class Number(Question):
    """A whole number from `least` to `most`: their sum, and so their mean."""

    kind = "number"
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 0 < self.most - self.least <= LARGEST:
            raise ParameterError(f"{self.name}: most lies above least, by at most {LARGEST}.")

    @property
    def circuit(self) -> Circuit:
        return Sum(self.most - self.least)

    @property
    def sensitivity(self) -> int:
        return self.most - self.least

    largest = sensitivity

    def measurement(self, answer: Any) -> int:
        try:
            number = int(str(answer))
        except ValueError:
            number = self.least - 1
        if not self.least <= number <= self.most:
            raise ParameterError(f"{self.name} is answered by a whole number from {self.least} to {self.most}.")
        return number - self.least

    def document(self) -> dict[str, Any]:
        return {**super().document(), "least": self.least, "most": self.most}


_KINDS: dict[str, tuple[type[Question], frozenset[str]]] = {
    "yes/no": (YesNo, frozenset()),
    "choice": (Choice, frozenset({"choices"})),
    "choices": (Choices, frozenset({"choices", "most"})),
    "number": (Number, frozenset({"least", "most"})),
}


def read_question(document: Mapping[str, Any]) -> Question:
    """A question as a file states it."""
    stated = dict(document)
    name, kind = stated.pop("name", None), stated.pop("kind", None)
    if not (isinstance(name, str) and name.isprintable() and 0 < len(name) <= 200):
        raise ParameterError("a question has a name of at most 200 printable characters.")
    if kind not in _KINDS:
        raise ParameterError(f"{name}: kind is one of {', '.join(_KINDS)}.")
    made, wanted = _KINDS[kind]
    if set(stated) != wanted:
        raise ParameterError(f"{name}: a question of kind {kind} states {', '.join(sorted(wanted)) or 'nothing else'}.")
    for key, value in stated.items():
        if key == "choices":
            stated[key] = tuple(value) if isinstance(value, list) else ()
        elif not isinstance(value, int) or isinstance(value, bool):
            raise ParameterError(f"{name}: {key} is a whole number.")
    return made(name, **stated)


def _check_labels(name: str, labels: Sequence[Any]) -> None:
    texts = all(isinstance(label, str) and label and label.isprintable() and "," not in label for label in labels)
    if not (texts and 2 <= len(labels) <= MOST_LABELS and len(set(labels)) == len(labels)):
        raise ParameterError(f"{name}: choices are 2 to {MOST_LABELS} different texts without commas.")
