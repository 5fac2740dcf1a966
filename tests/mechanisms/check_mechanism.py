"""check_mechanism(entry): everything that must hold for a mechanism, run over its entry in the registry.

A mechanism that joins the registry is checked by the battery of its kind; nothing else has to be written for it.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mechanisms_checks_of_distributions as distributions
import mechanisms_checks_of_noise as noise
import mechanisms_checks_of_smooth as smooth
import pytest

from dither.lab.registry import AnyEntry, DistributionEntry, NoiseEntry, SmoothEntry

BATTERIES: dict[type, Any] = {NoiseEntry: noise, DistributionEntry: distributions, SmoothEntry: smooth}


@dataclass(frozen=True)
class Case:
    """One check of one entry, with one of its examples or as a whole."""

    entry: AnyEntry
    example: int | None
    check: Callable[..., None]

    def run(self) -> None:
        if self.example is None:
            self.check(self.entry)
        else:
            self.check(self.entry, dict(self.entry.examples[self.example]))

    def __str__(self) -> str:
        name, what = self.entry.make.__name__, self.check.__name__.removeprefix("check_")
        return f"{name}-{what}" if self.example is None else f"{name}-{self.example}-{what}"


def cases(entry: AnyEntry) -> Iterator[Case]:
    """The whole battery for an entry, case by case."""
    battery = BATTERIES[type(entry)]
    yield from (Case(entry, None, check) for check in (check_it_draws_itself, *battery.OF_AN_ENTRY))
    of_an_example = (check_frozen_and_equal_by_value, *battery.OF_AN_EXAMPLE)
    yield from (Case(entry, i, check) for i in range(len(entry.examples)) for check in of_an_example)


def check_mechanism(entry: AnyEntry) -> None:
    """Fails with the first thing that does not hold."""
    for case in cases(entry):
        case.run()


def check_it_draws_itself(entry: AnyEntry) -> None:
    """A picture without being told what to show; a chart that does not follow the schema is refused by altair."""
    chart = entry.make(**dict(entry.examples[0])).plot().to_dict()
    assert entry.make.__name__ in str(chart["title"]["text"])


def check_frozen_and_equal_by_value(entry: AnyEntry, example: dict[str, Any]) -> None:
    mechanism = entry.make(**example)
    assert mechanism == entry.make(**example) == pickle.loads(pickle.dumps(mechanism))
    assert hash(mechanism) == hash(entry.make(**example))
    for field in dataclasses.fields(mechanism):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(mechanism, field.name, getattr(mechanism, field.name))
    with pytest.raises(TypeError):
        entry.make(*example.values())
