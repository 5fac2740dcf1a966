"""What can be computed from noisy columns and public keys, as trees: each node knows its value per group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from dither.errors import ParameterError
from dither.records import recorded
from dither.sql.expressions.base import Expression
from dither.sql.postprocess.formulas import arithmetic, functions, noisy_conditions
from dither.sql.postprocess.formulas.estimate import Estimate, constant, nothing
from dither.sql.postprocess.formulas.key_words import Words
from dither.sql.postprocess.formulas.noisy_conditions import Verdict

term = partial(recorded, family="term")  # some have the names of expressions over rows


@dataclass(frozen=True)
class Given:
    """The columns a tree is computed from: finished aggregates, and keys."""

    parts: Sequence[Estimate]
    keys: Sequence[Estimate | Words] = ()


@dataclass(frozen=True)
class Term(Expression):
    """A number per group."""

    @abstractmethod
    def of(self, given: Given) -> Estimate: ...


@dataclass(frozen=True)
class Condition(Expression):
    """A truth per group."""

    @abstractmethod
    def of(self, given: Given) -> Verdict: ...


@term("Part", "index")
@dataclass(frozen=True)
class Part(Term):
    """The aggregate at this place."""

    index: int

    def of(self, given: Given) -> Estimate:
        return given.parts[self.index]


@term("KeyNumber", "index")
@dataclass(frozen=True)
class KeyNumber(Term):
    """The group key at this place: a number, or days, microseconds or 0 and 1 for what is counted so."""

    index: int

    def of(self, given: Given) -> Estimate:
        found = given.keys[self.index]
        if isinstance(found, Words):
            raise ParameterError(f"key {self.index} is text, not a number.")
        return found


@term("Number", "value", "decimals")
@dataclass(frozen=True)
class Number(Term):
    """A literal."""

    value: int
    decimals: int = 0

    def of(self, given: Given) -> Estimate:
        return constant(self.value, self.decimals)


@term("Missing")
@dataclass(frozen=True)
class Missing(Term):
    """NULL."""

    def of(self, given: Given) -> Estimate:
        return nothing()


FUNCTIONS: dict[str, Callable[..., Estimate]] = {
    "add": arithmetic.add,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.divide,
    "modulo": arithmetic.modulo,
    "negate": arithmetic.negate,
    "absolute": arithmetic.absolute,
    "floor": functions.floor,
    "ceil": functions.ceil,
    "greatest": functions.greatest,
    "least": functions.least,
    "coalesce": functions.coalesce,
    "nullif": noisy_conditions.nullif,
    "sqrt": functions.square_root,
    "ln": functions.logarithm,
    "exp": functions.exponential,
    "power": functions.power,
}


@term("Apply", "function", "operands")
@dataclass(frozen=True)
class Apply(Term):
    """A function of numbers, by its name above."""

    function: str
    operands: tuple[Term, ...]

    def of(self, given: Given) -> Estimate:
        return FUNCTIONS[self.function](*(operand.of(given) for operand in self.operands))


@term("Rounded", "operand", "digits")
@dataclass(frozen=True)
class Rounded(Term):
    """ROUND(x, digits)."""

    operand: Term
    digits: int

    def of(self, given: Given) -> Estimate:
        return functions.rounded(self.operand.of(given), self.digits)


@term("Choice", "conditions", "values", "otherwise")
@dataclass(frozen=True)
class Choice(Term):
    """CASE: conditions with their values, and the value otherwise."""

    conditions: tuple[Condition, ...]
    values: tuple[Term, ...]
    otherwise: Term | None = None

    def of(self, given: Given) -> Estimate:
        cases = zip(self.conditions, self.values, strict=True)
        otherwise = None if self.otherwise is None else self.otherwise.of(given)
        return noisy_conditions.choose(
            [(condition.of(given), value.of(given)) for condition, value in cases], otherwise
        )


@term("Compare", "operator", "left", "right")
@dataclass(frozen=True)
class Compare(Condition):
    """= <> < <= > >= of two numbers."""

    operator: str
    left: Term
    right: Term

    def of(self, given: Given) -> Verdict:
        return noisy_conditions.compare(self.operator, self.left.of(given), self.right.of(given))


@term("CompareText", "operator", "key", "label")
@dataclass(frozen=True)
class CompareText(Condition):
    """A key of text beside a literal, in the order of code points."""

    operator: str
    key: int
    label: str

    def of(self, given: Given) -> Verdict:
        words, holds = given.keys[self.key], _TEXT[self.operator]
        if not isinstance(words, Words):
            raise ParameterError(f"key {self.key} is no text.")
        return words.test(lambda label: holds(label, self.label))


_TEXT: dict[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@term("KeyIsNull", "key")
@dataclass(frozen=True)
class KeyIsNull(Condition):
    """IS NULL of a key of any kind."""

    key: int

    def of(self, given: Given) -> Verdict:
        found = given.keys[self.key]
        return noisy_conditions.certain(found.codes < 0 if isinstance(found, Words) else found.null)


@term("IsNull", "operand")
@dataclass(frozen=True)
class IsNull(Condition):
    operand: Term

    def of(self, given: Given) -> Verdict:
        return noisy_conditions.is_null(self.operand.of(given))


@term("Not", "operand")
@dataclass(frozen=True)
class Not(Condition):
    operand: Condition

    def of(self, given: Given) -> Verdict:
        return noisy_conditions.negation(self.operand.of(given))


@term("And", "operands")
@dataclass(frozen=True)
class And(Condition):
    operands: tuple[Condition, ...]

    def of(self, given: Given) -> Verdict:
        return reduce(noisy_conditions.conjunction, (operand.of(given) for operand in self.operands))


@term("Or", "operands")
@dataclass(frozen=True)
class Or(Condition):
    operands: tuple[Condition, ...]

    def of(self, given: Given) -> Verdict:
        return reduce(noisy_conditions.disjunction, (operand.of(given) for operand in self.operands))


@term("Always", "truth")
@dataclass(frozen=True)
class Always(Condition):
    """TRUE, FALSE, or NULL."""

    truth: bool | None

    def of(self, given: Given) -> Verdict:
        return noisy_conditions.fixed(self.truth)
