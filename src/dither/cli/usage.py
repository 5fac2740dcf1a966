"""Usage errors are raised, so that `--json` can turn them into JSON like every other error."""

from __future__ import annotations

import argparse
from typing import NoReturn

from dither.errors import DitherError


class UsageError(DitherError):
    """The command line was not understood."""

    code = "usage_invalid"

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message)
        self.usage = usage


class Parser(argparse.ArgumentParser):
    """A parser, of which argparse makes those of the commands too."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help.", self.format_usage())


class RemoteParser(Parser):
    """A parser of commands that ask a server: they name no folder, and who asks is said by the token."""
