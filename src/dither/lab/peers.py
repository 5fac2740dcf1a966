"""Other libraries, audited like ours: Laplace and Gaussian noise, the exponential mechanism, a median and a mean.

They are optional: none is a dependency. Each audit claims what the library itself states for the same parameters.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from dither.accounting import ZCDP, ApproxDP, PureDP
from dither.errors import DitherError, ParameterError
from dither.lab.audit.registry_audit import Case
from dither.lab.audit.sampling import sampler_of

# One number moved by 1, among them pairs on which floating-point sums end in different digits.
_ODD = round(0.1 * 2**52) / 2**52  # as many digits as a double can have with 1 more
_NUMBERS = [(0.0, 1.0), (0.5, 1.5), (3.0, 2.0), (_ODD, 1 + _ODD), (1000.0, 1001.0), (-1e6, 1 - 1e6)]
_SCORES = [([0.0, 0.0, 0.0], [-1.0, 1.0, 1.0]), ([2.0, 2.0, 0.0], [1.0, 3.0, 1.0]), ([0.0] * 8, [-1.0] + [1.0] * 7)]
# One record replaced.
_RECORDS = [
    ([0.0, 0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0, 1.0]),
    ([0.0] * 5, [0.0, 0.0, 0.0, 0.0, 1.0]),
    ([0.5] * 5, [0.5, 0.5, 0.5, 0.5, 1.0]),
    ([0.2, 0.4, 0.5, 0.6, 0.8], [0.2, 0.4, 1.0, 0.6, 0.8]),
]
# One record more.
_LONGER = [(one, [*one, other[-1]]) for one, other in _RECORDS]


class MissingPeer(DitherError, ImportError):
    """The library to audit is not installed here."""

    code = "peer_missing"


def peer_cases(name: str) -> Iterator[Case]:
    """What is audited of an installed library."""
    if name not in _PEERS:
        raise ParameterError(f"there is no audit of {name!r}; there are audits of: {', '.join(_PEERS)}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from _PEERS[name]()
    except ImportError as missing:
        raise MissingPeer(
            f"{name} is not installed in this environment ({missing.name or name} cannot be imported); "
            "`make bench` sets up one that has it, .venv-peers."
        ) from None


def _case(name: str, mechanism: Any, pairs: list[tuple[Any, Any]], claimed: Any, parameters: str) -> Case:
    return Case(name, parameters, lambda: (_quiet(mechanism), pairs, claimed))


def _quiet(mechanism: Callable[..., Any]) -> Callable[[Any, int], Any]:
    """Libraries warn about strange data, which is what they are given."""
    draw = sampler_of(mechanism)

    def called(data: Any, size: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return draw(data, size)

    return called


def _opendp() -> Iterator[Case]:
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    scores = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    laplace = dp.m.make_laplace(scores, dp.l1_distance(T=float), 1.0)
    yield _case("opendp Laplace", _many(laplace), _NUMBERS, PureDP(laplace.map(1.0)), "scale=1")
    gaussian = dp.m.make_gaussian(scores, dp.l2_distance(T=float), 1.0)
    yield _case("opendp Gaussian", _many(gaussian), _NUMBERS, ZCDP(gaussian.map(1.0)), "scale=1")
    choice = dp.m.make_noisy_max(scores, dp.linf_distance(T=float), dp.max_divergence(), 2.0)
    yield _case("opendp exponential", choice, _SCORES, PureDP(choice.map(1.0)), "scale=2")
    places = [i / 10 for i in range(11)]
    median = dp.m.make_private_quantile(
        scores, dp.symmetric_distance(), dp.max_divergence(), candidates=places, alpha=0.5, scale=2.0
    )
    yield _case("opendp median", median, _LONGER, PureDP(median.map(1)), "scale=2")
    sized = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), nan=False), size=5), dp.symmetric_distance()
    mean = sized >> dp.t.then_mean() >> dp.m.then_laplace(0.2)
    yield _case("opendp mean", mean, _RECORDS, PureDP(mean.map(2)), "scale=0.2")


def _many(measurement: Any) -> Callable[[Any, int], Any]:
    """One release of a long vector: noise is independent in each coordinate."""
    return lambda value, size: measurement([value] * size)


def _diffprivlib() -> Iterator[Case]:
    mechanisms: Any = importlib.import_module("diffprivlib.mechanisms")
    tools: Any = importlib.import_module("diffprivlib.tools")
    at_one = "epsilon=1"
    yield _case(
        "diffprivlib Laplace", mechanisms.Laplace(epsilon=1, sensitivity=1).randomise, _NUMBERS, PureDP(1), at_one
    )
    gaussian = mechanisms.GaussianAnalytic(epsilon=1, delta=1e-3, sensitivity=1)
    yield _case(
        "diffprivlib Gaussian", gaussian.randomise, _NUMBERS, ApproxDP(1, "1e-3"), "analytic, epsilon=1, delta=0.001"
    )
    made: dict[tuple[float, ...], Any] = {}

    def choose(scores: list[float]) -> int:
        known = tuple(scores)
        if known not in made:
            made[known] = mechanisms.Exponential(epsilon=1, sensitivity=1, utility=scores)
        return int(made[known].randomise())

    yield _case("diffprivlib exponential", choose, _SCORES, PureDP(1), at_one)
    for name in ("median", "mean"):
        yield _case(f"diffprivlib {name}", _tool(tools, name), _RECORDS, PureDP(1), at_one)


def _tool(tools: ModuleType, name: str) -> Callable[[Any], Any]:
    import numpy as np

    statistic = getattr(tools, name)
    return lambda records: statistic(np.asarray(records), epsilon=1, bounds=(0, 1))


def _pydp() -> Iterator[Case]:
    noise: Any = importlib.import_module("pydp.algorithms.numerical_mechanisms")
    statistics: Any = importlib.import_module("pydp.algorithms.laplacian")
    laplace = noise.LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    yield _case("pydp Laplace", laplace.add_noise, _NUMBERS, PureDP(1), "epsilon=1")
    gaussian = noise.GaussianMechanism(1.0, 1e-3, 1.0)
    yield _case("pydp Gaussian", gaussian.add_noise, _NUMBERS, ApproxDP(1, "1e-3"), "epsilon=1, delta=0.001")
    bounds = {"epsilon": 1, "lower_bound": 0, "upper_bound": 1, "dtype": "float"}
    for name, kind in (("median", statistics.Median), ("mean", statistics.BoundedMean)):
        yield _case(f"pydp {name}", _quick(kind, bounds), _LONGER, PureDP(1), "epsilon=1")


def _quick(kind: Any, bounds: dict[str, Any]) -> Callable[[Any], Any]:
    return lambda records: kind(**bounds).quick_result(list(records))


_PEERS: dict[str, Callable[[], Iterator[Case]]] = {"opendp": _opendp, "diffprivlib": _diffprivlib, "pydp": _pydp}
