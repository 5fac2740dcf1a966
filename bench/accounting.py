"""What compositions cost, and how long it takes to say so, beside dp-accounting, prv-accountant and autodp.

Every measurement runs in a child process of its own with a time limit: epsilon at delta = 1e-6, the best of several
runs in processor time, and how much memory the child needed beyond importing. A peer that was cut off after its first
run counts with that run. Peers that are not installed are left out. PASS means:

- the bracket is at most 1e-3 of epsilon wide,
- epsilon is not above the best peer's by more than the bracket,
- at least 5 times faster than the fastest peer that is as tight, within 1e-3, whatever its method,
- less than 100 MB.

    python bench/accounting.py [time limit per measurement, seconds]
"""

from __future__ import annotations

import importlib.util
import math
import multiprocessing
import queue
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

DELTA = 1e-6
SIGMA = math.sqrt(1 / (2 * 1e-4))
Bounds = tuple[float, float]
Mechanism = tuple[str, Any]

MIX: list[Mechanism] = (
    [("gauss", float(s)) for s in np.geomspace(20, 200, 100)]
    + [("lap", float(e)) for e in np.geomspace(0.002, 0.02, 50)]
    + [("pure", float(e)) for e in np.geomspace(0.0021, 0.021, 50)]
)
CASES: dict[str, list[tuple[Mechanism, int]]] = {
    **{
        f"{name} k={k:,}": [((kind, x), k)]
        for kind, x, name in (
            ("gauss", SIGMA, "Gaussian rho 1e-4"),
            ("lap", 0.01, "Laplace 0.01"),
            ("pure", 0.01, "pure 0.01"),
        )
        for k in (10, 1000, 100_000)
    },
    "mix of 200": [(mechanism, 1) for mechanism in MIX],
    "sampled Gaussian k=10,000": [(("sub", (0.01, 1.0)), 10_000)],
    "sampled Laplace k=1,000": [(("sublap", (0.01, 1.0)), 1000)],
    "Gaussian without replacement, replace, k=1,000": [(("without", (0.01, 1.0)), 1000)],
}


@dataclass(frozen=True)
class Measured:
    name: str
    bounds: Bounds | None
    seconds: float
    megabytes: float
    trouble: str = ""


def forget() -> None:
    """Empty every cache of ours, so that each run does all the work."""
    for name, module in list(sys.modules.items()):
        if name.startswith("dither."):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def relation(parts: list[tuple[Mechanism, int]]) -> str:
    return "replace" if any(kind == "without" for (kind, _), _ in parts) else "add_remove"


def dither(parts: list[tuple[Mechanism, int]]) -> Callable[[], Bounds]:
    from dither.accounting import GDP, PLD, PureDP, compose

    def one(mechanism: Mechanism) -> Any:
        kind, x = mechanism
        if kind == "gauss":
            return GDP(mu_squared=1 / Fraction(x) ** 2)
        if kind == "lap":
            return PLD.laplace(x)
        if kind == "sublap":
            return PLD.subsampled_laplace(x[1], x[0], relation(parts))
        return PureDP(x) if kind == "pure" else PLD.subsampled_gaussian(x[1], x[0], relation(parts))

    def run() -> Bounds:
        return compose([one(mechanism) * k for mechanism, k in parts]).bounds_at(delta=DELTA)

    return run


def dp_accounting_pld(parts: list[tuple[Mechanism, int]], step: float) -> Callable[[], Bounds]:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as distribution

    def one(mechanism: Mechanism) -> Any:
        kind, x = mechanism
        options = {"value_discretization_interval": step, "pessimistic_estimate": True}
        if kind == "gauss":
            return distribution.from_gaussian_mechanism(x, **options)
        if kind == "lap":
            return distribution.from_laplace_mechanism(1 / x, **options)
        if kind == "pure":
            parameters = common.DifferentialPrivacyParameters(x, 0.0)
            return distribution.from_privacy_parameters(parameters, value_discretization_interval=step)
        if kind == "sublap":
            return distribution.from_laplace_mechanism(1 / x[1], sampling_prob=x[0], **options)
        if kind == "without":
            raise NotImplementedError("has no distribution for samples without replacement")
        return distribution.from_gaussian_mechanism(x[1], sampling_prob=x[0], **options)

    def run() -> Bounds:
        total = None
        for mechanism, k in parts:
            part = one(mechanism).self_compose(k) if k > 1 else one(mechanism)
            total = part if total is None else total.compose(part)
        return 0.0, float(total.get_epsilon_for_delta(DELTA))

    return run


def dp_accounting_rdp(parts: list[tuple[Mechanism, int]]) -> Callable[[], Bounds]:
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    def event(mechanism: Mechanism) -> Any:
        kind, x = mechanism
        if kind == "gauss":
            return dp_accounting.GaussianDpEvent(x)
        if kind == "lap":
            return dp_accounting.LaplaceDpEvent(1 / x)
        if kind == "sub":
            return dp_accounting.PoissonSampledDpEvent(x[0], dp_accounting.GaussianDpEvent(x[1]))
        if kind == "without":
            total = round(1 / x[0]) * 100
            return dp_accounting.SampledWithoutReplacementDpEvent(total, 100, dp_accounting.GaussianDpEvent(x[1]))
        raise NotImplementedError(f"has no event for {kind}")

    def run() -> Bounds:
        one = dp_accounting.NeighboringRelation
        accountant = RdpAccountant(
            neighboring_relation=one.REPLACE_ONE if relation(parts) == "replace" else one.ADD_OR_REMOVE_ONE
        )
        for mechanism, k in parts:
            accountant.compose(event(mechanism), k)
        return 0.0, float(accountant.get_epsilon(DELTA))

    return run


def prv(parts: list[tuple[Mechanism, int]]) -> Callable[[], Bounds]:
    import prv_accountant

    makers: dict[str, Callable[[Any], Any]] = {
        "gauss": prv_accountant.GaussianMechanism,
        "lap": lambda x: prv_accountant.LaplaceMechanism(mu=x),
        "pure": prv_accountant.PureDPMechanism,
        "sub": lambda x: prv_accountant.PoissonSubsampledGaussianMechanism(
            sampling_probability=x[0], noise_multiplier=x[1]
        ),
    }
    counts = [k for _, k in parts]

    def run() -> Bounds:
        losses = [makers[kind](x) for (kind, x), _ in parts]
        accountant = prv_accountant.PRVAccountant(
            prvs=losses, max_self_compositions=counts, eps_error=0.01, delta_error=DELTA / 1000
        )
        low, _, high = accountant.compute_epsilon(DELTA, counts)
        return float(low), float(high)

    return run


def autodp(parts: list[tuple[Mechanism, int]]) -> Callable[[], Bounds]:
    from autodp import mechanism_zoo, transformer_zoo

    def one(mechanism: Mechanism) -> Any:
        kind, x = mechanism
        if kind == "gauss":
            return mechanism_zoo.GaussianMechanism(sigma=x)
        if kind == "lap":
            return mechanism_zoo.LaplaceMechanism(b=1 / x)
        if kind == "pure":
            return mechanism_zoo.PureDP_Mechanism(x)
        if kind != "sub":
            raise NotImplementedError(f"not compared for {kind}")
        sampled = mechanism_zoo.GaussianMechanism(sigma=x[1])
        sampled.neighboring = "add_remove"
        return transformer_zoo.AmplificationBySampling(PoissonSampling=True)(sampled, x[0], improved_bound_flag=True)

    def run() -> Bounds:
        composed = transformer_zoo.Composition()([one(m) for m, _ in parts], [k for _, k in parts])
        return 0.0, float(composed.get_approxDP(DELTA))

    return run


PEERS: dict[str, tuple[str, Callable[..., Callable[[], Bounds]]]] = {
    "dp-accounting PLD 1e-4": ("dp_accounting", lambda parts: dp_accounting_pld(parts, 1e-4)),
    "dp-accounting PLD 1e-5": ("dp_accounting", lambda parts: dp_accounting_pld(parts, 1e-5)),
    "dp-accounting RDP": ("dp_accounting", dp_accounting_rdp),
    "prv-accountant": ("prv_accountant", prv),
    "autodp RDP": ("autodp", autodp),
}


def _child(answer: Any, make: Callable[..., Callable[[], Bounds]], parts: list[tuple[Mechanism, int]]) -> None:
    warnings.simplefilter("ignore")
    try:
        run = make(parts)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found, best, total, runs = None, math.inf, 0.0, 0
        while runs < 2 or (total < 1.5 and runs < 12):
            forget()
            start = time.process_time()
            found = run()
            took = time.process_time() - start
            best, total, runs = min(best, took), total + took, runs + 1
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            answer.put((found, best, grown, ""))
        answer.put(None)
    except Exception as error:  # noqa: BLE001 - a peer's failure is a result
        answer.put((None, math.inf, 0.0, f"{type(error).__name__}: {str(error)[:80]}"))
        answer.put(None)


def measure(name: str, make: Callable[..., Callable[[], Bounds]], parts: Any, limit: float) -> Measured:
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=_child, args=(answer, make, parts))
    child.start()
    last, end = (None, math.inf, 0.0, f"more than {limit:g} s"), time.monotonic() + limit
    try:
        while (found := answer.get(timeout=max(0.0, end - time.monotonic()))) is not None:
            last = found
    except queue.Empty:
        child.kill()
    child.join()
    return Measured(name, *last)


def tightest(ours: Measured, peers: list[Measured]) -> Measured | None:
    """The fastest peer that is as tight, within 1e-3; None if none is."""
    if ours.bounds is None:
        return None
    enough = ours.bounds[1] * (1 + 1e-3)
    tight = [peer for peer in peers if peer.bounds is not None and peer.bounds[1] <= enough]
    return min(tight, key=lambda peer: peer.seconds, default=None)


def judge(ours: Measured, peers: list[Measured]) -> list[str]:
    """What does not hold, in words."""
    if ours.bounds is None:
        return [ours.trouble]
    low, high = ours.bounds
    wrong = []
    if not high - low <= 1e-3 * high:
        wrong.append(f"the bracket is {(high - low) / high:.1e} wide")
    if not ours.megabytes < 100:
        wrong.append(f"{ours.megabytes:.0f} MB")
    answered = [peer for peer in peers if peer.bounds is not None]
    if answered:
        best = min(peer.bounds[1] for peer in answered if peer.bounds is not None)
        if not high <= best + max(high - low, 1e-3 * high):
            wrong.append(f"above the best peer's {best:.6f}")
        fastest = tightest(ours, peers)
        if fastest is not None and not 5 * ours.seconds <= fastest.seconds:
            wrong.append("not 5 times as fast")
    return wrong


def show(measured: Measured) -> None:
    if measured.bounds is None:
        print(f"    {measured.name:24s} {measured.trouble}")
        return
    low, high = measured.bounds
    shown = f"{low:.6f} .. {high:.6f}" if low else f"{high:.6f}"
    print(f"    {measured.name:24s} {shown:>26s}  {measured.seconds * 1e3:10.3f} ms  {measured.megabytes:6.0f} MB")


def calibration() -> bool:
    from dither.accounting import ApproxDP, calibrate

    calibrate("gaussian", ApproxDP(1, "1e-5"), 1000)
    best = math.inf
    for _ in range(10):
        forget()
        start = time.process_time()
        calibrate("gaussian", ApproxDP(1, "1e-6"), 1000)
        best = min(best, time.process_time() - start)
    print(f"\ncalibrate 1000 Gaussians to (1, 1e-6): {best * 1e3:.2f} ms  {'PASS' if best < 0.005 else 'FAIL'}")
    return best < 0.005


def many_places() -> None:
    """A hundred places of one curve at once, and one by one."""
    from dither.accounting import PLD

    guarantee = PLD.subsampled_gaussian(1, "0.01") * 1000
    places = [n / 50 for n in range(100)]
    times = []
    for read in (lambda: guarantee.delta_at(places), lambda: [guarantee.delta_at(place) for place in places]):
        forget()
        start = time.process_time()
        read()
        times.append(time.process_time() - start)
    print(f"\n100 places of a curve: {times[0] * 1e3:.0f} ms at once, {times[1] * 1e3:.0f} ms one by one")


def main() -> int:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    there = {name: peer for name, (package, peer) in PEERS.items() if importlib.util.find_spec(package)}
    for make in (dither, *there.values()):
        make([])  # imports what it needs, which is not measured
    print(f"at most {limit:g} s for each measurement; peers: " + (", ".join(there) or "none installed"))
    failed = 0
    for case, parts in CASES.items():
        print(f"\n{case}")
        ours = measure("dither", dither, parts, limit)
        show(ours)
        peers = [measure(name, peer, parts, limit) for name, peer in there.items()]
        for peer in peers:
            show(peer)
        wrong = judge(ours, peers)
        fastest = tightest(ours, peers)
        against = f", {fastest.seconds / ours.seconds:.1f} times as fast as {fastest.name}" if fastest else ""
        print(f"  {'FAIL: ' + '; '.join(wrong) if wrong else 'PASS'}{against}", flush=True)
        failed += bool(wrong)
    failed += not calibration()
    many_places()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
