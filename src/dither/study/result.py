"""What a study has found: noisy counts, means and ratios, with intervals that count the noise of all aggregators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.errors import ParameterError
from dither.exact.intervals import Interval
from dither.exact.parameters import Number as Exact
from dither.exact.parameters import probability
from dither.study.promises import promise
from dither.study.questions import Number, Question
from dither.study.study import Study


@dataclass(frozen=True)
class Result:
    """The noisy sums of a study, in the order of its questions, over a public number of reports."""

    study: Study
    reports: int
    sums: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, study: Study, reports: int, shares: Sequence[bytes]) -> Result:
        """From the noisy shares of all aggregators."""
        size = sum(function.circuit.output * function.field.size for function in study.functions)
        if [len(share) for share in shares] != [size] * len(study.aggregators):
            raise ParameterError("a result needs the whole share of every aggregator.")
        if type(reports) is not int or not study.least_reports <= reports <= study.most_reports:
            raise ParameterError(f"a result counts {study.least_reports} to {study.most_reports} reports.")
        sums, start = [], 0
        for function in study.functions:
            size = function.circuit.output * function.field.size
            sums.append(tuple(function.unshard([share[start : start + size] for share in shares])))
            start += size
        return cls(study, reports, tuple(sums))

    def counts(self, question: str) -> dict[str, int]:
        """How many reports chose each label, with noise."""
        asked, sums = self._of(question)
        if isinstance(asked, Number):
            raise ParameterError(f"{question} is a number: ask for its mean.")
        return dict(zip(asked.labels, sums, strict=True))

    def mean(self, question: str) -> float:
        asked, sums = self._of(question)
        if not isinstance(asked, Number):
            raise ParameterError(f"{question} is no number: ask for its counts.")
        return float(asked.least + Fraction(sums[0], self.reports))

    def error(self, question: str, confidence: Exact = "0.95") -> int:
        """How far each sum of a question may be off."""
        asked, _ = self._of(question)
        return self.study.noise.reach(self.study.scale(asked), probability(confidence, "confidence"))

    def interval(self, question: str, confidence: Exact = "0.95") -> Any:
        """The interval of a mean, or of each count; what cannot be is left out of it."""
        asked, sums = self._of(question)
        error, most = self.error(question, confidence), self.reports * asked.largest
        ends = [Interval(max(0, min(most, total - error)), min(most, max(0, total + error))) for total in sums]
        if isinstance(asked, Number):
            low, high = ends[0]
            return Interval(*(float(asked.least + Fraction(end, self.reports)) for end in (low, high)))
        return dict(zip(asked.labels, ends, strict=True))

    def ratio(self, part: tuple[str, str], whole: Sequence[tuple[str, str]], confidence: Exact = "0.95") -> Ratio:
        """One count over the sum of several, each named by question and label, with an interval for all jointly."""
        named = {part, *whole}
        missed = (1 - probability(confidence, "confidence")) / len(named)
        estimates, lows, highs = {}, {}, {}
        for question, label in named:
            estimates[question, label] = self.counts(question)[label]
            lows[question, label], highs[question, label] = self.interval(question, 1 - missed)[label]
        others = [name for name in whole if name != part]
        inside = part in whole
        low = _share(lows[part], lows[part] * inside + sum(highs[name] for name in others), 0.0)
        high = _share(highs[part], highs[part] * inside + sum(lows[name] for name in others), 1.0 if inside else None)
        value = _share(estimates[part], sum(estimates[name] for name in whole), None)
        return Ratio(value, low, high)

    def document(self) -> dict[str, Any]:
        return {
            "study": self.study.id.hex(),
            "name": self.study.name,
            "epsilon": str(self.study.epsilon),
            "promise": promise(self.study),
            "reports": self.reports,
            "questions": {asked.name: self._found(asked) for asked in self.study.questions},
        }

    def _found(self, asked: Question) -> Mapping[str, Any]:
        if isinstance(asked, Number):
            return {"mean": self.mean(asked.name), "interval": self.interval(asked.name)}
        return {"counts": self.counts(asked.name), "intervals": self.interval(asked.name)}

    def __str__(self) -> str:
        lines = [f"{self.study.name}: {self.reports:,} reports, epsilon {self.study.epsilon}"]
        for asked in self.study.questions:
            if isinstance(asked, Number):
                low, high = self.interval(asked.name)
                lines.append(f"  {asked.name}: mean {self.mean(asked.name):.4g}, 95% in [{low:.4g}, {high:.4g}]")
                continue
            error = self.error(asked.name)
            for label, count in self.counts(asked.name).items():
                shown = asked.name if label == asked.name else f"{asked.name} = {label}"
                lines.append(f"  {shown}: {count:,} ± {error:,}")
        return "\n".join([*lines, f"Promised is {promise(self.study)}"])

    def _of(self, question: str) -> tuple[Question, tuple[int, ...]]:
        for asked, sums in zip(self.study.questions, self.sums, strict=True):
            if asked.name == question:
                return asked, sums
        names = ", ".join(asked.name for asked in self.study.questions)
        raise ParameterError(f"the study has no question {question!r}; it has {names}.")


@dataclass(frozen=True)
class Ratio:
    """An estimate with its interval; None where the noisy counts give none."""

    value: float | None
    low: float | None
    high: float | None


def _share(part: int, whole: int, otherwise: float | None) -> float | None:
    return part / whole if whole > 0 else otherwise
