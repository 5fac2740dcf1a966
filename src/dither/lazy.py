"""What is loaded on first use, so that `import dither` costs next to nothing whatever the toolbox holds."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A package's `__getattr__`: looks a name up in the table of homes, and nowhere else.

    A home that ends in the name is the module of that name itself.
    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has: {', '.join(sorted(homes))}.")
        with importing():
            module = importlib.import_module(home)
        found = module if home.endswith(f".{name}") else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    return load


def listing(names: Iterable[str]) -> Callable[[], list[str]]:
    """A package's `__dir__`: its public names and nothing else, so that completion offers what there is to call."""
    return lambda: sorted(names)


def homes(names: Mapping[str, str]) -> dict[str, str]:
    """The home of each name, from the names that each module has."""
    return {name: module for module, listed in names.items() for name in listed.split()}


@contextmanager
def importing() -> Iterator[None]:
    """For imports: they make many objects and no garbage, and to look for it would take a tenth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def missing_extra(needing: str, extra: str, error: ImportError) -> str:
    """What is said where an extra is not installed."""
    return f"{needing} the extra `{extra}`: in a checkout of dither pip install '.[{extra}]' ({error})."
