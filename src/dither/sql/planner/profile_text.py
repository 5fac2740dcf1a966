"""A profile in words: in ten lines at most, or with every bin of its histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dither.exact.digits import counted
from dither.sql.postprocess.left_out import ROWS

_WORDS = {
    "largest": "the largest value of ",
    "smallest": "the smallest value, if below zero, without its sign, of ",
    "gains": "the total of positive values of ",
    "losses": "the total of negative values, without its sign, of ",
}
_MOST_LINES = 8  # of quantities

Bin = Mapping[str, Any]


def short_text(document: Mapping[str, Any]) -> str:
    """One line for each quantity: about how many owners there are, and where most of them are."""
    histograms = document["histograms"]
    lines = [f"  {_quantity(name)}: {_spread(bins[0])}" for name, bins in histograms.items()]
    if len(lines) > _MOST_LINES:
        rest = len(lines) - _MOST_LINES + 1
        lines = [*lines[: _MOST_LINES - 1], f"  ... and {rest} quantities more"]
    about = "About, from noisy counts; .details() has every bin with its interval." if lines else ""
    return "\n".join([_head(document), *lines, *([about] if about else [])])


def whole_text(document: Mapping[str, Any]) -> str:
    """Every bin with its interval."""
    lines = [_head(document)]
    for name, histograms in document["histograms"].items():
        for place, bins in enumerate(histograms):
            again = ", asked again" * bool(place)
            lines += ["", f"{_quantity(name)}, and how many owners have so much{again}:"]
            lines += [f"  {_range(part):>24}: {_owners(part)}" for part in bins]
    return "\n".join([*lines, "", "Intervals hold with probability 95%, each by itself."])


def _head(document: Mapping[str, Any]) -> str:
    paid = "; ".join(f"{part}: {price}" for part, price in document["price"].items())
    return f"Profile of {document['table']}, snapshot {document['snapshot']}. Paid: {paid or 'nothing yet'}."


def _quantity(name: str) -> str:
    kind, _, column = name.partition(" ")
    return "rows of an owner" if name == ROWS else _WORDS[kind] + column


def _spread(bins: Sequence[Bin]) -> str:
    counts = [max(0, part["owners"]) for part in bins]
    total = sum(counts)
    if not total:
        return "no owners to speak of"
    found = []
    for share in (0.5, 0.95):
        upto, reached = 0, bins[-1]
        for part, owners in zip(bins, counts, strict=True):
            upto += owners
            if upto >= share * total:
                reached = part
                break
        found.append(_range(reached))
    return f"{counted(total, 'owner')}, the middle one {found[0]}, the 95th of a hundred {found[1]}"


def _range(part: Bin) -> str:
    start, end = part["from"], part["to"]
    return f"{start:,} or more" if end is None else f"{start:,}" if end == start else f"{start:,} to {end:,}"


def _owners(part: Bin) -> str:
    return f"{counted(part['owners'], 'owner')} (between {part['lower']:,} and {part['upper']:,})"
