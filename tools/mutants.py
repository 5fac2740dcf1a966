"""Mutants of a module: its source with one small, plausible mistake each, made on its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

SWAPS: dict[type[ast.AST], list[type[ast.AST]]] = {
    ast.Lt: [ast.LtE, ast.GtE], ast.LtE: [ast.Lt, ast.Gt], ast.Gt: [ast.GtE, ast.LtE], ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn], ast.NotIn: [ast.In], ast.And: [ast.Or], ast.Or: [ast.And],
    ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div], ast.Div: [ast.Mult], ast.FloorDiv: [ast.Mult],
    ast.Mod: [ast.FloorDiv], ast.Pow: [ast.Mult], ast.LShift: [ast.RShift], ast.RShift: [ast.LShift],
    ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd], ast.Break: [ast.Continue], ast.Continue: [ast.Break],
}  # fmt: skip
PAIRS = [
    ("min", "max"), ("floor", "ceil"), ("any", "all"), ("floor_units", "ceil_units"), ("minimum", "maximum"),
    ("lower", "upper"), ("low", "high"), ("l1", "l2"), ("cost", "delta"), ("numerator", "denominator"),
    ("start", "end"), ("left", "right"), ("first", "last"), ("rows", "groups"), ("floor_divide", "ceil"),
    ("sequence", "version"), ("people", "analyst"), ("keys", "values"), ("spent", "limit"), ("cap", "spent"),
]  # fmt: skip
NAMES = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}


@dataclass(frozen=True)
class Mutant:
    """One change of one module: where, and what became what."""

    module: str
    line: int
    column: int
    change: str


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the node's place, each a plausible mistake."""
    for operator in SWAPS.get(type(node), ()):
        yield operator()
    match node:
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.BoolOp(_, values):
            yield from values
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Name(name, ast.Load()) if name in NAMES:
            yield ast.Name(NAMES[name], ast.Load())
        case ast.Attribute(value, name, ast.Load()) if name in NAMES:
            yield ast.Attribute(value, NAMES[name], ast.Load())
        case ast.Raise() | ast.Expr(ast.Call()) | ast.Expr(ast.YieldFrom()) | ast.AugAssign():
            yield ast.Pass()


def places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every (parent, field, index, child) whose change could matter: no words, no types, no imports."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "exc") or isinstance(node, ast.JoinedStr):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not _left_alone(node, child):
                yield node, field, index, child
                yield from places(child)


def _left_alone(parent: ast.AST, child: ast.AST) -> bool:
    match child:
        case ast.If(ast.Name("TYPE_CHECKING")):
            return True
        case ast.keyword("strict"):  # of zip: lengths that agree by construction
            return True
        case ast.Assign(_, ast.BinOp(_, ast.BitOr(), _) | ast.Subscript()):
            return isinstance(parent, ast.Module)
    return False


def mutants(module: str, source: str) -> list[tuple[Mutant, str]]:
    """Every mutant of the source, in its order, with its text."""
    tree = ast.parse(source)
    known = set(re.findall(r"\w+", source)) | {"min", "max", "any", "all"}
    made: dict[str, Mutant] = {ast.unparse(tree): Mutant(module, 0, 0, "none")}
    for parent, field, index, child in places(tree):
        small = isinstance(child, (ast.operator, ast.cmpop, ast.boolop, ast.Constant, ast.Name))
        shown = parent if small and isinstance(parent, (ast.expr, ast.keyword)) else child
        before = ast.unparse(shown)
        for new in replacements(child):
            named = getattr(new, "attr", getattr(new, "id", None))
            if named is not None and named not in known:
                continue
            _put(parent, field, index, new)
            after = ast.unparse(parent if shown is parent else new)
            with suppress(SyntaxError):
                text = ast.unparse(tree)
                compile(text, module, "exec")
                line, column = (getattr(child, name, getattr(parent, name, 0)) for name in ("lineno", "col_offset"))
                made.setdefault(text, Mutant(module, line, column, f"{_short(before)} -> {_short(after)}"))
            _put(parent, field, index, child)
    return [(mutant, text) for text, mutant in made.items()][1:]


def _put(parent: ast.AST, field: str, index: int | None, child: ast.AST) -> None:
    if index is None:
        setattr(parent, field, child)
    else:
        getattr(parent, field)[index] = child


def _short(text: str, longest: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 3] + "..."


def sample(found: list[tuple[Mutant, str]], most: int, seed: int) -> list[tuple[Mutant, str]]:
    """At most that many, spread evenly over the module; another seed takes others."""
    count = min(most, len(found))
    return [found[(number * len(found) + seed * 7919 % len(found)) // count % len(found)] for number in range(count)]
