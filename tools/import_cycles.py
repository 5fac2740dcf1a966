"""Finds circles of imports, those inside functions counted, and imports that are deferred in vain.

An import stands in a function where it saves start-up time: what it loads is not loaded by the file anyway. It never
hides a circle. What only type checkers import is left out.

    python tools/import_cycles.py
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"


@dataclass
class Imports:
    """What each module imports when it is loaded, and what only when one of its functions is called."""

    loaded: dict[str, set[str]] = field(default_factory=dict)
    deferred: dict[str, set[str]] = field(default_factory=dict)
    loaders: set[str] = field(default_factory=set)  # packages whose names load more when they are asked for


def read(source: Path = SOURCE) -> Imports:
    """The imports among the modules below a folder."""
    paths = {_name(path.relative_to(source)): path for path in sorted(source.rglob("*.py"))}
    found = Imports({name: set() for name in paths}, {name: set() for name in paths})
    for name, path in paths.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__getattr__" for node in tree.body):
            found.loaders.add(name)
        for node, inside in _imports(tree):
            targets = {target for target in _targets(node, paths) if target != name}
            (found.deferred if inside else found.loaded)[name] |= targets
    return found


def cycles(imports: Imports) -> list[list[str]]:
    """Every set of modules that reach one another, largest first."""
    edges = {name: imports.loaded[name] | imports.deferred[name] for name in imports.loaded}
    reach = {name: _closure({name}, edges) for name in edges}
    found = {
        frozenset(other for other in reach[name] if name in reach[other]) | {name}
        for name in edges
        if any(name in reach[other] for other in edges[name])
    }
    return sorted((sorted(circle) for circle in found), key=lambda circle: (-len(circle), circle))


def vain(imports: Imports) -> list[tuple[str, str]]:
    """Imports inside functions of what is loaded with the file in any case."""
    with_parents = {
        name: {p for target in targets for p in _parents(target)} for name, targets in imports.loaded.items()
    }
    found = []
    for name, targets in imports.deferred.items():
        reached = _closure({name, *_parents(name)}, with_parents)
        found += [(name, target) for target in sorted((targets & reached) - imports.loaders)]
    return found


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _parents(module: str) -> list[str]:
    """A module and the packages that are loaded before it."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def _imports(tree: ast.AST, inside: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, inside
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        else:
            yield from _imports(node, inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))


def _targets(node: ast.Import | ast.ImportFrom, known: dict[str, Path]) -> set[str]:
    if isinstance(node, ast.Import):
        names = {alias.name for alias in node.names}
    else:
        whole = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        names = {whole[name] if whole[name] in known else str(node.module) for name in whole}
    return names & known.keys()


def _closure(start: set[str], edges: dict[str, set[str]]) -> set[str]:
    """All that is reached from somewhere, the start itself only if a circle leads back to it."""
    found: set[str] = set()
    left = [target for name in start for target in edges.get(name, ())]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += edges.get(name, ())
    return found


if __name__ == "__main__":
    imports = read()
    problems = [" <-> ".join(circle) for circle in cycles(imports)]
    problems += [f"{name} defers {target}, which is loaded anyway" for name, target in vain(imports)]
    print("\n".join(problems) or f"no circle among {len(imports.loaded)} modules")
    sys.exit(bool(problems))
