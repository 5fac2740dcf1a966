"""`dither price`: what a plan of releases costs, under every theorem side by side. No data, no folder, no charge."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dither.cli.common import Commands, add_json, command, print_json
from dither.errors import ParameterError
from dither.parameters import positive, probability, whole

if TYPE_CHECKING:
    from dither.accounting import Guarantee
    from dither.accounting.prices import Row

_DESCRIPTION = """\
Price a plan of releases that is fixed in advance. A plan is a list such as
"100 counts at 0.1, 1 median at 0.5": how many, what, and the price of each. Known are
  counts, sums, histograms, laplace   discrete Laplace noise, at an epsilon
  medians, quantiles, choices         the exponential mechanism, at an epsilon
  gaussians                           at rho R, at mu M, or at sigma S (sensitivity 1)
  releases                            anything epsilon-DP, at an epsilon
  tests                               anything (epsilon, delta)-DP: "at 0.5 with 1e-8"
Each theorem's epsilon is rounded up; the best is marked. Theorems marked "running" stay
valid when prices are chosen along the way, as a budget's are."""

_EXAMPLES = """\
  dither price "100 counts at 0.1, 1 median at 0.5" --delta 1e-6
  dither price "1000 gaussians at rho 0.0001" --delta 1e-6 --json
  dither price "20 counts at 0.1" --delta 1e-6 --plot price.svg"""

_ITEM = re.compile(
    r"(?P<count>[0-9][0-9_]*)\s+(?P<what>[a-z]+)\s+at\s+"
    r"(?:(?P<unit>rho|mu|sigma|epsilon)\s+)?(?P<amount>[^\s]+)(?:\s+with\s+(?P<delta>[^\s]+))?"
)
_MOST_ITEMS = 1000
_POINTS = 24  # at most, of a drawn curve
_MOST_REPETITIONS = 2**15
_ENOUGH = 20  # an epsilon beyond which nobody needs to compare theorems


def add(commands: Commands) -> None:
    parser = command(
        commands, "price", "price a plan of releases before making it", description=_DESCRIPTION, examples=_EXAMPLES
    )
    parser.add_argument("plan", help='the releases, such as "100 counts at 0.1, 1 median at 0.5"')
    parser.add_argument("--delta", required=True, help="the delta at which epsilon is read, such as 1e-6")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw epsilon against repetitions of the plan")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Read the plan, price it, print and draw."""
    from dither.accounting.prices import growth, prices

    parts = read_plan(arguments.plan)
    delta = probability(arguments.delta, "delta")
    rows = prices(parts, delta)
    if arguments.plot is not None:
        from dither.cli.price_plot import draw

        counts = repetitions(parts, delta)
        arguments.plot.write_text(draw(counts, growth(parts, delta, counts), float(delta)), encoding="utf-8")
    if arguments.json:
        print_json({"plan": arguments.plan, "delta": arguments.delta, "theorems": [_document(row) for row in rows]})
        return
    print(table(rows))


def repetitions(parts: list[tuple[Guarantee, int]], delta: Fraction) -> list[int]:
    """How often the plan is carried out in a picture: until the best epsilon is near 20, or delta is spent."""
    from dither.accounting.prices import prices

    def best(times: int) -> float:
        rows = prices([(guarantee, count * times) for guarantee, count in parts], delta)
        return min((_epsilon_of(row) for row in rows), default=math.inf)

    last = 1
    while last < _MOST_REPETITIONS and best(last) < _ENOUGH and math.isfinite(best(2 * last)):
        last *= 2
    return sorted({round(last ** (step / _POINTS)) for step in range(_POINTS + 1)})


def read_plan(text: str) -> list[tuple[Guarantee, int]]:
    """The guarantees of a written plan with their counts; a part that is not understood is refused, with what is."""
    items = [item.strip() for item in text.lower().split(",")]
    if len(items) > _MOST_ITEMS:
        raise ParameterError(f"a plan has at most {_MOST_ITEMS} items; got {len(items)}.")
    return [_read(item) for item in items]


def _read(item: str) -> tuple[Guarantee, int]:
    found = _ITEM.fullmatch(item)
    if found is None:
        raise ParameterError(f'cannot read "{item[:60]}"; write how many, what, and the price: "100 counts at 0.1".')
    word = found["what"].removesuffix("s") if found["what"] != "laplace" else "laplace"
    make = _makers().get(word)
    if make is None:
        raise ParameterError(f'unknown release "{found["what"]}"; known are {", ".join(sorted(_makers()))}.')
    count = whole(int(found["count"].replace("_", "")), "how many", most=10**12)
    return make(found["unit"], found["amount"], found["delta"]), count


def _makers() -> dict[str, Callable[[str | None, str, str | None], Guarantee]]:
    """What each word of a plan means."""
    return {
        **dict.fromkeys(("count", "sum", "histogram", "laplace"), _laplace),
        **dict.fromkeys(("median", "quantile", "choice"), _choice),
        "gaussian": _gaussian,
        "release": _release,
        "test": _test,
    }


def _epsilon(unit: str | None, amount: str, delta: str | None) -> Fraction:
    if unit not in (None, "epsilon") or delta is not None:
        raise ParameterError("this release is priced by an epsilon alone, without delta, rho, mu or sigma.")
    return positive(amount, "epsilon")


def _laplace(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    from dither.accounting import PureDP

    # A sensitivity of one grid step is the most expensive law of this noise, so it covers all.
    return PureDP(_epsilon(unit, amount, delta), proven_laplace_steps=1)


def _choice(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    from dither.accounting import PureDP

    epsilon = _epsilon(unit, amount, delta)
    return PureDP(epsilon, proven_rho=epsilon**2 / 8)


def _release(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    from dither.accounting import PureDP

    return PureDP(_epsilon(unit, amount, delta))


def _gaussian(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    from dither.accounting import GDP

    if unit not in ("rho", "mu", "sigma") or delta is not None:
        raise ParameterError('Gaussian noise is priced "at rho R", "at mu M" or "at sigma S".')
    number = positive(amount, unit)
    square = {"rho": 2 * number, "mu": number**2, "sigma": 1 / number**2}[unit]
    return GDP(mu_squared=square)


def _test(unit: str | None, amount: str, delta: str | None) -> Guarantee:
    from dither.accounting import ApproxDP

    if delta is None:
        raise ParameterError('tests have a delta: "3 tests at 0.5 with 1e-8".')
    return ApproxDP(_epsilon(unit, amount, None), probability(delta, "delta"))


def table(rows: list[Row]) -> str:
    """The rows as text, the smallest epsilon marked."""
    best = min((row for row in reversed(rows) if row.epsilon is not None), key=_epsilon_of, default=None)
    lines = [f"{'theorem':14}{'epsilon':>14}  {'running':9}"]
    for row in rows:
        mark = " *" if row is best else ""
        note = row.note if row.lower is None else f"{row.note} (at least {_shown(row.lower, up=False)})"
        running = "yes" if row.running else "no"
        lines.append(f"{row.theorem:14}{_shown(row.epsilon, up=True):>14}  {running:9}{note}{mark}")
    return "\n".join(line.rstrip() for line in lines)


def _epsilon_of(row: Row) -> float:
    return math.inf if row.epsilon is None else row.epsilon


def _shown(value: float | None, *, up: bool) -> str:
    """Six significant digits, rounded outward."""
    if value is None:
        return "-"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    scale = Fraction(10) ** (5 - math.floor(math.log10(value)))
    units = (math.ceil if up else math.floor)(Fraction(value) * scale)
    return f"{float(units / scale):.6g}"


def _document(row: Row) -> dict[str, object]:
    finite = row.epsilon is not None and math.isfinite(row.epsilon)
    return {
        "theorem": row.theorem,
        "epsilon": row.epsilon if finite else None,
        "lower": row.lower if row.lower is not None and math.isfinite(row.lower) else None,
        "running": row.running,
        "note": row.note,
    }
