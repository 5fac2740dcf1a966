"""Frozen classes that check their own parameters."""

from __future__ import annotations

from dither.exact.short_forms import ShortForm


class Frozen(ShortForm):
    """The base of a frozen dataclass whose own `__init__` or `__post_init__` reads what it is given into exact form."""

    def _keep(self, **checked: object) -> None:
        """Set checked parameters, while the object is made and never again."""
        self.__dict__.update(checked)
