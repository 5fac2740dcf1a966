"""Name-and-shame: the counter-example that shows what a delta can mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.accounting.guarantees.approx import ApproxDP
from dither.errors import ParameterError, RelationMismatch
from dither.exact.balls import ball, bounds
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, probability, whole
from dither.mechanisms.outcome import Outcome
from dither.neighbours import Relation
from dither.noise import uniform_below


@dataclass(frozen=True, init=False, repr=False)
class NameAndShame(Frozen):
    """(0, delta)-DP under replace, and a disaster: each record is published in clear with probability delta.

    A COUNTER-EXAMPLE, for teaching only: on n records somebody is exposed with probability 1 - (1 - delta)^n, so a
    delta that is not far below 1/n promises nothing. Under add_remove the length of the output betrays n: not private.

    docs/proofs/nameandshame.md.

    >>> m = NameAndShame(delta="0.001")
    >>> m.expected(1000), round(m.any_exposed(1000), 4)
    (Fraction(1, 1), 0.6323)
    """

    delta: Fraction
    relation: Relation

    def __init__(self, *, delta: Number, relation: Relation | str = Relation.REPLACE) -> None:
        self._keep(delta=probability(delta, "delta"), relation=Relation.read(relation))
        if self.relation is not Relation.REPLACE:
            raise RelationMismatch(
                f"the length of the output is the number of records, so nothing holds under {self.relation.value}; "
                "only under replace."
            )

    @property
    def guarantee(self) -> ApproxDP:
        return ApproxDP(0, self.delta, relation=self.relation)

    def expected(self, records: int) -> Fraction:
        """The expected number of records published in clear."""
        return self.delta * whole(records, "records", least=0)

    def any_exposed(self, records: int) -> float:
        """The probability that at least one record is published in clear."""
        size = whole(records, "records", least=0)
        return float(bounds(lambda: -((1 - ball(self.delta)).log() * size).expm1())[1]) if size else 0.0

    def release(self, records: Iterable[Any], *, counterexample: bool = False) -> Outcome:
        """The records, each replaced by None except with probability delta. Refused unless counterexample=True."""
        if counterexample is not True:
            raise ParameterError(
                "name-and-shame publishes whole records; it exists as a counter-example. "
                "Say counterexample=True to run it, on data that nobody needs to protect."
            )
        if isinstance(records, (str, bytes)) or not isinstance(records, Iterable):
            raise ParameterError("give the records as a list or an array.")
        listed = list(records)
        exposed = uniform_below(self.delta.denominator, len(listed)) < self.delta.numerator
        return Outcome([record if shown else None for record, shown in zip(listed, exposed, strict=True)], self)

    def plot(self, record: str = "Alice's record", neighbour: str = "Bob's record") -> Any:
        """An altair chart: what is published in the place of one record, which is another on a neighbour.

        A record that only one of them has is published with probability delta there and never here: its ratio is
        infinite, which no epsilon allows and a delta does.
        """
        from dither.plot import two_choices

        seen, blank = float(self.delta), float(1 - self.delta)
        first = {record: seen, neighbour: 0.0, "nothing": blank}
        second = {record: 0.0, neighbour: seen, "nothing": blank}
        return two_choices(type(self).__name__, self.guarantee, first, second, (record, neighbour))
