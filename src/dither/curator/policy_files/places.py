"""Places in a policy file, so that an error says where it is, what is wrong, what is allowed and what was meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from dither.errors import DitherError, PolicyError
from dither.escape import shortened
from dither.policy.names import meant

FILL_IN = "FILL IN"  # what a draft writes where only the curator knows


@dataclass(frozen=True)
class Place:
    """A value in the file and the names that lead to it."""

    file: Path
    names: tuple[str, ...]
    value: Any

    def __str__(self) -> str:
        return f"{self.file}: {'.'.join(map(shortened, self.names))}" if self.names else str(self.file)

    def wrong(self, what: str) -> NoReturn:
        raise PolicyError(f"{self}: {what}")

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Whatever is refused inside is refused here."""
        try:
            yield
        except DitherError as error:
            raise PolicyError(f"{self}: {error}") from None

    def fields(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Place]:
        """The values inside by their names, each of which is known and none of which is missing."""
        known = [*required, *optional]
        found = self.entries()
        for name in found:
            if name not in known:
                shown = shortened(repr(name))
                self.wrong(f"unknown name {shown}; allowed are {', '.join(known)}. {meant(name, known)}".rstrip())
        for name in required:
            if name not in found:
                self.wrong(f"{name!r} is missing; it needs {', '.join(required)}.")
        return found

    def entries(self) -> dict[str, Place]:
        """The values inside by their names, whatever they are."""
        if not isinstance(self.value, dict):
            self.wrong(f"needs names with values; got {_shown(self.value)}.")
        for name in self.value:
            if not isinstance(name, str):
                self.wrong(f'names are text; write "{shortened(name)}" in quotation marks.')
        return {name: Place(self.file, (*self.names, name), value) for name, value in self.value.items()}

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value:
            self.wrong(f'needs text, such as "name"; got {_shown(self.value)}.')
        return self.value

    def texts(self) -> tuple[str, ...]:
        """One text, or a list of them."""
        if isinstance(self.value, str):
            return (self.text(),)
        if not isinstance(self.value, list) or not self.value:
            self.wrong(f'needs text or a list of texts, such as ["a", "b"]; got {_shown(self.value)}.')
        for value in self.value:
            if not isinstance(value, str):
                self.wrong(f"every entry is text; write {shortened(str(value).lower())} in quotation marks.")
        return tuple(self.value)

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            self.wrong(f"is true or false; got {_shown(self.value)}.")
        return self.value

    def choice(self, allowed: Collection[str]) -> str:
        text = self.text()
        if text not in allowed:
            self.wrong(f"{shortened(repr(text))} is not one of {', '.join(allowed)}. {meant(text, allowed)}".rstrip())
        return text

    def unfilled(self) -> Iterator[str]:
        """Everything below that a draft left to fill in."""
        if self.value == FILL_IN:
            yield ".".join(self.names)
        inner = self.value.items() if isinstance(self.value, dict) else ()
        for name, value in inner:
            yield from Place(self.file, (*self.names, str(name)), value).unfilled()


def _shown(value: object) -> str:
    return shortened(f"the text {value!r}" if isinstance(value, str) else f"{value!r}")
