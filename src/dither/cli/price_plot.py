"""epsilon against the number of repetitions, as a small picture without any library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 40, 50
_COLOURS = ("#6b7280", "#b45309", "#0f766e", "#7c3aed", "#be185d", "#1d4ed8")


def draw(counts: Sequence[int], curves: Mapping[str, Sequence[float]], delta: float) -> str:
    """An SVG: one line per theorem, labelled at its end; those far above the best leave through the top."""
    top = 1.3 * min((values[-1] for values in curves.values() if values[-1] > 0), default=1.0)
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def x(count: float) -> float:
        span = math.log10(counts[-1]) - math.log10(counts[0]) or 1.0
        return _LEFT + (right - _LEFT) * (math.log10(count) - math.log10(counts[0])) / span

    def y(value: float) -> float:
        return bottom - (bottom - _TOP) * value / top

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<clipPath id="within"><rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}"/>',
        "</clipPath>",
        f'<text x="{_LEFT}" y="22" font-size="14">epsilon at delta = {delta:g}, the plan carried out k times</text>',
    ]
    for level in _ticks(top):
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y(level):.1f}" y2="{y(level):.1f}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(level) + 4:.1f}" text-anchor="end">{level:g}</text>')
    factors = (1, 2, 5) if counts[-1] <= 1000 else (1,)
    for count in (10**power * factor for power in range(10) for factor in factors):
        if count <= counts[-1]:
            parts.append(f'<text x="{x(count):.1f}" y="{_HEIGHT - 25}" text-anchor="middle">{count:,}</text>')
    parts.append(f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">k</text>')
    ends = _spread([(y(min(values[-1], top)), name) for name, values in curves.items()])
    for colour, (name, values) in zip(_COLOURS, curves.items(), strict=False):
        path = " ".join(f"{x(count):.1f},{y(value):.1f}" for count, value in zip(counts, values, strict=True))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" clip-path="url(#within)"/>'
        )
        parts.append(f'<text x="{right + 8}" y="{ends[name] + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _ticks(top: float) -> list[float]:
    """At most seven round numbers from 0 to top.

    >>> _ticks(26)
    [0, 5, 10, 15, 20, 25]
    """
    power = math.floor(math.log10(top)) - 1
    steps = (Fraction(10) ** (power + more) * factor for more in (0, 1) for factor in (1, 2, 5))
    step = next(step for step in steps if top / step < 7)
    return [
        float(step * number) if step.denominator > 1 else int(step) * number for number in range(int(top / step) + 1)
    ]


def _spread(ends: list[tuple[float, str]]) -> dict[str, float]:
    """Labels in the order of their lines, at least one line of text apart."""
    placed: dict[str, float] = {}
    last = -math.inf
    for level, name in sorted(ends):
        last = max(level, last + 15)
        placed[name] = last
    return placed
