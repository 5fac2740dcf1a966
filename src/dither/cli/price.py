"""`dither price`: what a plan of releases costs, under every theorem side by side. No data, no folder, no charge."""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dither.cli.common import Commands, add_json, command, print_json
from dither.errors import ParameterError
from dither.exact.parameters import probability

if TYPE_CHECKING:
    from dither.accounting import Guarantee
    from dither.accounting.currency.price_list import Row

_DESCRIPTION = """\
Price a plan of releases that is fixed in advance. A plan is a list such as
"100 counts at 0.1, 1 median at 0.5, delta 1e-6": how many, what, and the price of each,
and the delta at which epsilon is read (or --delta). Known are
  counts, sums, histograms, laplace   discrete Laplace noise, at an epsilon
  medians, quantiles, choices         the exponential mechanism, at an epsilon
  gaussians                           at rho R, at mu M, at sigma S (sensitivity 1), or at E with D
  releases, averages, means           anything epsilon-DP, at an epsilon
  tests                               anything (epsilon, delta)-DP: "at 0.5 with 1e-8"
Each theorem's epsilon is rounded up; the smallest is marked *. Theorems marked "running" stay
valid when prices are chosen along the way, as a budget's are."""

_EXAMPLES = """\
  dither price "100 counts at 0.1, 1 median at 0.5, delta 1e-6"
  dither price "1000 gaussians at rho 0.0001" --delta 1e-6 --json
  dither price "20 counts at 0.1" --delta 1e-6 --plot price.svg"""

_POINTS = 24  # at most, of a drawn curve
_MOST_REPETITIONS = 2**15
_ENOUGH = 20  # an epsilon beyond which nobody needs to compare theorems


def add(commands: Commands) -> None:
    parser = command(
        commands, "price", "price a plan of releases before making it", description=_DESCRIPTION, examples=_EXAMPLES
    )
    parser.add_argument("plan", help='the releases, such as "100 counts at 0.1, 1 median at 0.5"')
    parser.add_argument("--delta", help="the delta at which epsilon is read, such as 1e-6, if the plan names none")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw epsilon against repetitions of the plan")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Read the plan, price it, print and draw."""
    from dither.accounting.currency.price_list import growth, prices
    from dither.accounting.currency.price_plan import one_delta, read_plan

    if arguments.plot is not None and arguments.plot.suffix.lower() != ".svg":
        raise ParameterError(f"--plot draws SVG: name it {arguments.plot.with_suffix('.svg')}, say.")
    plan = read_plan(arguments.plan)
    if plan.delta is None and arguments.delta is None and _is_pure(plan.parts) and arguments.plot is None:
        _print_pure(arguments, plan.parts)
        return
    written = one_delta(plan.delta, arguments.delta)
    parts, delta = plan.parts, probability(written, "delta")
    rows = prices(parts, delta)
    if arguments.plot is not None:
        from dither.cli.pricing.price_plot import draw

        counts = repetitions(parts, delta)
        draw(counts, growth(parts, delta, counts), float(delta)).save(str(arguments.plot))
    if arguments.json:
        print_json({"plan": arguments.plan, "delta": written, "theorems": [row.document() for row in rows]})
        return
    print(table(rows))
    print(summary(rows, written))


def _is_pure(parts: list[tuple[Guarantee, int]]) -> bool:
    from dither.accounting import PureDP

    return all(isinstance(guarantee, PureDP) for guarantee, _ in parts)


def _print_pure(arguments: argparse.Namespace, parts: list[tuple[Guarantee, int]]) -> None:
    """Without a delta epsilons add up, and no other theorem applies."""
    from dither.accounting.currency.price_list import Row
    from dither.curator.budgets import decimal_text
    from dither.exact.balls import float_up

    total = sum((guarantee.basic().epsilon * count for guarantee, count in parts), Fraction(0))
    if arguments.json:
        row = Row("basic", float_up(total), True, "epsilons add; pure, without any delta")
        print_json({"plan": arguments.plan, "delta": None, "theorems": [row.document()]})
        return
    shown = decimal_text(total, up=True, digits=6)
    print(f"Epsilons add: the plan is {shown}-DP, without any delta. At one, such as --delta 1e-6, it may be less.")


def repetitions(parts: list[tuple[Guarantee, int]], delta: Fraction) -> list[int]:
    """How often the plan is carried out in a picture: until the best epsilon is near 20, or delta is spent."""
    from dither.accounting.currency.price_list import prices

    def best(times: int) -> float:
        rows = prices([(guarantee, count * times) for guarantee, count in parts], delta)
        return min((_epsilon_of(row) for row in rows), default=math.inf)

    last = 1
    while last < _MOST_REPETITIONS and best(last) < _ENOUGH and math.isfinite(best(2 * last)):
        last *= 2
    return sorted({round(last ** (step / _POINTS)) for step in range(_POINTS + 1)})


def table(rows: list[Row]) -> str:
    """The rows as text, the smallest epsilon marked."""
    best = min((row for row in reversed(rows) if row.epsilon is not None), key=_epsilon_of, default=None)
    lines = [f"{'theorem':14}{'epsilon':>14}  {'running':9}(* has the smallest epsilon)"]
    for row in rows:
        mark = " *" if row is best else ""
        note = row.note if row.lower is None else f"{row.note} (at least {_shown(row.lower, up=False)})"
        running = "yes" if row.running else "no"
        lines.append(f"{row.theorem:14}{_shown(row.epsilon, up=True):>14}  {running:9}{note}{mark}")
    return "\n".join(line.rstrip() for line in lines)


def summary(rows: list[Row], delta: str) -> str:
    """The figures that matter, in a sentence."""
    fixed = min((_epsilon_of(row) for row in rows), default=math.inf)
    running = min((_epsilon_of(row) for row in rows if row.running), default=math.inf)
    if not math.isfinite(fixed):
        return f"No theorem gives an epsilon at delta {delta}."
    held = f"The plan as it stands is ({_shown(fixed, up=True)}, {delta})-DP"
    if not math.isfinite(running):
        return f"{held}."
    if running == fixed:
        return f"{held}, also if prices are chosen along the way."
    return f"{held}; if prices are chosen along the way, ({_shown(running, up=True)}, {delta})-DP."


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
