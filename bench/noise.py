"""How fast exact noise is, beside NumPy's own (insecure, float) generators and OpenDP, interleaved in one run.

    python bench/noise.py            # exit status 1 if a requirement is missed

Every figure is the least processor time of many rounds; in each round all contenders run once, one after the other.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

import dither as dt
from dither import noise

DRAWS = 10**6
SCALES = [1, 100, 1000, 10**6]
ROUNDS = 25
PEER_DRAWS = 2000

checks: list[tuple[str, str, bool]] = []


def require(what: str, found: str, holds: bool) -> None:
    checks.append((what, found, holds))


def seconds(run: Callable[[], object]) -> float:
    """Of the processor: the clock would also count what others do on the machine."""
    start = time.process_time()
    run()
    return time.process_time() - start


def best(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least time of each contender over interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(seconds(run))
    return {name: min(found) for name, found in times.items()}


def opendp_contenders(scale: int) -> dict[str, Callable[[], object]]:
    """OpenDP's own samplers on a vector of integers, if it is installed."""
    if importlib.util.find_spec("opendp") is None:
        return {}
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    space2 = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    zeros = [0] * PEER_DRAWS
    laplace = dp.m.make_laplace(*space, scale=float(scale))
    gaussian = dp.m.make_gaussian(*space2, scale=float(scale))
    return {"opendp laplace": lambda: laplace(zeros), "opendp gaussian": lambda: gaussian(zeros)}


def warm_up(scale: int) -> float:
    """Draws until the tables of a scale used often exist (small scales only have them); the time that took."""
    start = time.perf_counter()
    for _ in range(20):
        noise.discrete_laplace(scale, DRAWS)
        noise.rounded_gaussian(scale, DRAWS)
    return time.perf_counter() - start


def bench_throughput() -> None:
    generator = np.random.default_rng()
    print(f"{DRAWS:,} draws, least of {ROUNDS} interleaved rounds; million draws per second, and ratio to NumPy's.")
    print(
        "Scales are used often: tables that the library keeps for them exist before the timing (built in the warm-up)."
    )
    print(
        f"{'scale':>9} {'laplace':>9} {'numpy':>7} {'ratio':>6} | {'gaussian':>9} {'numpy':>7} {'ratio':>6} | warm-up"
    )
    for scale in SCALES:
        warm = warm_up(scale)
        runs: dict[str, Callable[[], object]] = {
            "laplace": lambda scale=scale: noise.discrete_laplace(scale, DRAWS),
            "numpy laplace": lambda scale=scale: generator.laplace(0.0, scale, DRAWS),
            "gaussian": lambda scale=scale: noise.rounded_gaussian(scale, DRAWS),
            "numpy normal": lambda scale=scale: generator.normal(0.0, scale, DRAWS),
        }
        found = best(runs, ROUNDS)
        speed = {name: DRAWS / least / 1e6 for name, least in found.items()}
        laplace = speed["laplace"] / speed["numpy laplace"]
        gaussian = speed["gaussian"] / speed["numpy normal"]
        print(
            f"{scale:>9} {speed['laplace']:>9.1f} {speed['numpy laplace']:>7.1f} {laplace:>5.2f}x |"
            f" {speed['gaussian']:>9.1f} {speed['numpy normal']:>7.1f} {gaussian:>5.2f}x | {warm * 1e3:.0f} ms"
        )
        least_laplace, least_gaussian = (1.0, 1.0) if scale <= 1000 else (0.6, 0.4)
        require(f"laplace at {scale}: >= {least_laplace}x numpy", f"{laplace:.2f}x", laplace >= least_laplace)
        require(f"gaussian at {scale}: >= {least_gaussian}x numpy", f"{gaussian:.2f}x", gaussian >= least_gaussian)
        peers = best(opendp_contenders(scale), 3)
        for name, least in peers.items():
            rate = PEER_DRAWS / least / 1e6
            ratio = speed[name.removeprefix("opendp ")] / rate
            print(f"{'':>9} {name}: {rate * 1e6:,.0f} draws a second; ours {ratio:,.0f}x")
            if scale <= 1000:
                require(f"{name} at {scale}: ours >= 500x", f"{ratio:,.0f}x", ratio >= 500)


def bench_public_call() -> None:
    """What a user calls, beside NumPy's noise added to the same array."""
    generator, values = np.random.default_rng(), np.arange(DRAWS)
    print(f"\nrelease() of an array of {DRAWS:,} whole numbers; milliseconds, and NumPy's time over ours.")
    for scale in SCALES:
        laplace, gaussian = dt.Laplace(epsilon=1, sensitivity=scale), dt.Gaussian(rho="1/2", sensitivity=scale)
        runs: dict[str, Callable[[], object]] = {
            "laplace": partial(laplace.release, values),
            "numpy laplace": lambda scale=scale: values + generator.laplace(0.0, scale, DRAWS),
            "gaussian": partial(gaussian.release, values),
            "numpy gaussian": lambda scale=scale: values + generator.normal(0.0, scale, DRAWS),
        }
        found = best(runs, ROUNDS)
        for name, least in (("laplace", 2.0), ("gaussian", 1.0)):
            ours, theirs = found[name], found[f"numpy {name}"]
            ratio = theirs / ours
            print(f"{scale:>9} {name:>8} {ours * 1e3:>6.1f} {theirs * 1e3:>6.1f} {ratio:>5.2f}x")
            if scale <= 100:
                require(f"{name}.release at {scale}: >= {least}x numpy", f"{ratio:.2f}x", ratio >= least)


def never_used() -> Fraction:
    """A scale that nobody has asked for."""
    return Fraction(int.from_bytes(os.urandom(5), "little") + 2000, 1_000_003)


def bench_new_scales() -> None:
    samplers = {
        "laplace": noise.discrete_laplace,
        "gaussian": noise.rounded_gaussian,
        "geometric": noise.geometric,
    }
    print("\nA scale never used before, construction included: median and least of many.")
    for name, draw in samplers.items():
        draw(never_used(), 10_000)
        single = sorted(seconds(partial(draw, never_used())) * 1e6 for _ in range(2001))
        batch = sorted(seconds(partial(draw, never_used(), 10_000)) * 1e3 for _ in range(201))
        print(
            f"  {name}: one draw {single[1000]:.1f} us (least {single[0]:.1f}),"
            f" 10,000 draws {batch[100]:.2f} ms (least {batch[0]:.2f})"
        )
        require(f"new scale, one {name} draw: < 50 us", f"{single[1000]:.1f} us", single[1000] < 50)
        require(f"new scale, 10,000 {name} draws: < 2 ms", f"{batch[100]:.2f} ms", batch[100] < 2)


def in_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def bench_import() -> None:
    code = "import time, numpy; t = time.perf_counter(); import dither; print(time.perf_counter() - t)"
    added = min(float(in_new_process(code)) for _ in range(15)) * 1e3
    heavy = in_new_process(
        "import sys, dither; print(*[m for m in ('duckdb', 'sqlglot', 'scipy') if m in sys.modules])"
    )
    first = "import time, dither.noise as n; t = time.perf_counter(); n.discrete_laplace(3); n.rounded_gaussian(3); "
    first_draws = min(float(in_new_process(first + "print(time.perf_counter() - t)")) for _ in range(5)) * 1e3
    print(f"\nimport dither after numpy: {added:.1f} ms; of duckdb, sqlglot, scipy it imports: {heavy or 'none'}")
    print(f"first Laplace and Gaussian draw of a process (flint imported, standard tables built): {first_draws:.0f} ms")
    require("import dither adds < 100 ms to numpy", f"{added:.1f} ms", added < 100)
    require("import dither leaves duckdb, sqlglot, scipy alone", heavy or "none", not heavy)


def main() -> int:
    bench_throughput()
    bench_public_call()
    bench_new_scales()
    bench_import()
    print()
    for what, found, holds in checks:
        print(f"{'PASS' if holds else 'FAIL'}  {what:<55} {found}")
    if importlib.util.find_spec("opendp") is None:
        print("not compared: opendp is not installed")
    return 0 if all(holds for _, _, holds in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
