"""epsilon against the number of repetitions, as a small picture without any library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 40, 50
_COLOURS = ("#6b7280", "#b45309", "#0f766e", "#7c3aed", "#be185d", "#1d4ed8")


def draw(counts: Sequence[int], curves: Mapping[str, Sequence[float]], delta: float) -> str:
    """An SVG: both axes logarithmic, one line per theorem, labelled at its end."""
    positive = [value for values in curves.values() for value in values if value > 0]
    lowest, highest = min(positive, default=0.1), max(positive, default=10.0)
    bottom, top = (
        math.floor(math.log10(lowest)),
        max(math.ceil(math.log10(highest)), math.floor(math.log10(lowest)) + 1),
    )

    def x(count: float) -> float:
        span = math.log10(counts[-1]) - math.log10(counts[0]) or 1.0
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (math.log10(count) - math.log10(counts[0])) / span

    def y(value: float) -> float:
        share = (math.log10(max(value, 10.0**bottom)) - bottom) / (top - bottom)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="14">epsilon at delta = {delta:g}, the plan carried out k times</text>',
    ]
    for power in range(bottom, top + 1):
        level = y(10.0**power)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{level:.1f}" y2="{level:.1f}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{level + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for power in range(math.floor(math.log10(counts[-1])) + 1):
        parts.append(f'<text x="{x(10**power):.1f}" y="{_HEIGHT - 25}" text-anchor="middle">{10**power:,}</text>')
    parts.append(f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">k</text>')
    ends = _spread([(y(values[-1]), name) for name, values in curves.items()])
    for colour, (name, values) in zip(_COLOURS, curves.items(), strict=False):
        path = " ".join(f"{x(count):.1f},{y(value):.1f}" for count, value in zip(counts, values, strict=True))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 8}" y="{ends[name] + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _spread(ends: list[tuple[float, str]]) -> dict[str, float]:
    """Labels in the order of their lines, at least one line of text apart."""
    placed: dict[str, float] = {}
    last = -math.inf
    for level, name in sorted(ends):
        last = max(level, last + 15)
        placed[name] = last
    return placed
