"""Mechanisms as answers and plans record them: a permanent tag and exact parameters, and the noise they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dither.errors import ParameterError
from dither.mechanisms import Exponential, Gaussian, KeySelection, Laplace, Quantile
from dither.neighbours import Relation

Mechanism = Laplace | Gaussian | Quantile | Exponential | KeySelection
OWNER = Relation.OWNER
MECHANISM = "mechanism"  # beside its parameters: its tag
FACTOR = "factor"  # in releases of earlier versions: what noisy numbers are multiplied by when shown


def noise_of(mechanism: Mechanism) -> Laplace | Gaussian | None:
    """The noise on a published number; None where a value was chosen, and no noise added."""
    added = mechanism.noise if isinstance(mechanism, KeySelection) else mechanism
    return added if isinstance(added, (Laplace, Gaussian)) else None


def half_width(mechanism: Mechanism, confidence: Fraction) -> Fraction:
    """What the noise stays within with this confidence; 0 where a value was chosen: its error is one of rank."""
    noise = noise_of(mechanism)
    return Fraction(0) if noise is None else Fraction(noise.error(confidence))


def scale_of(mechanism: Mechanism) -> Fraction | None:
    """The scale of the noise on a published number."""
    noise = noise_of(mechanism)
    return None if noise is None else Fraction(noise.scale)


def parameters_of(mechanism: Mechanism) -> dict[str, str]:
    """The mechanism as text, read back by `mechanism_from`."""
    tag, names = _RECORDED[type(mechanism)]
    values = {name: _read(mechanism, name) for name in names}
    return {MECHANISM: tag, **{n: str(v) for n, v in values.items() if v is not None}}


def tag_of(mechanism: Mechanism) -> str:
    """What records and answers call the mechanism."""
    return _RECORDED[type(mechanism)][0]


def factor_from(parameters: Mapping[str, str]) -> Fraction:
    """What a stored noisy number is multiplied by when it is shown."""
    return Fraction(parameters.get(FACTOR, 1))


def mechanism_from(parameters: Mapping[str, str]) -> Mechanism:
    """The mechanism that `parameters_of` describes."""
    return _built(tuple(item for item in parameters.items() if item[0] != FACTOR))


@lru_cache(maxsize=256)  # columns of one answer share their noise; parameters are public, few and made again quickly
def _built(parameters: tuple[tuple[str, str], ...]) -> Mechanism:
    given: dict[str, Any] = dict(parameters)
    name = given.pop(MECHANISM)
    build = _BUILT.get(name)
    if build is None:
        raise ParameterError(
            f"unknown mechanism {name!r} in a stored answer; it was made by another version of dither."
        )
    for name in ("rows_per_owner", "keys_per_owner"):
        if name in given:
            given[name] = int(given[name])
    return build(**given, relation=OWNER)


# Tags are permanent, whatever classes are called; what is recorded beside them is read back by name.
_RECORDED: dict[type[Mechanism], tuple[str, tuple[str, ...]]] = {
    Laplace: ("Laplace", ("epsilon", "sensitivity")),
    Gaussian: ("Gaussian", ("rho", "sensitivity")),
    Quantile: ("Quantile", ("epsilon", "q", "lower", "upper", "rows_per_owner")),
    Exponential: ("Exponential", ("epsilon", "sensitivity")),
    KeySelection: ("KeySelection", ("epsilon", "rho", "delta", "keys_per_owner")),
}
_BUILT: dict[str, Callable[..., Mechanism]] = {
    "Laplace": Laplace,
    "Gaussian": Gaussian,
    "Quantile": Quantile,
    "Exponential": lambda **given: Exponential(monotone=True, **given),
    "KeySelection": KeySelection,
}


def _read(mechanism: Any, name: str) -> Any:
    if name in ("lower", "upper"):
        return mechanism.grid.first if name == "lower" else mechanism.grid.last
    return getattr(mechanism, name)
