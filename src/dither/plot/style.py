"""How all pictures look, and the one place that imports altair."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any

from dither.errors import DitherError
from dither.escape import distinct_labels, shortened

FIRST, SECOND = "#4468c0", "#e0a030"
INK, QUIET, ALARM = "#333333", "#999999", "#c0504d"
WIDTH = 520
_RATIO_HEIGHT = 110
_LONGEST = 2000  # of any text; subtitles are sentences


class MissingPackage(DitherError, ImportError):
    """A picture was asked for and altair is not installed."""

    code = "package_missing"


def load() -> Any:
    """The altair module."""
    try:
        import altair
    except ImportError:
        raise MissingPackage(
            "pictures are drawn with altair, which is not installed. In a checkout of dither: pip install '.[plot]', "
            "or .uv/bin/uv pip install -e '.[plot]' for the environment that make set up."
        ) from None
    return altair


def styled(chart: Any) -> Any:
    """The chart with the fonts and quiet axes that all pictures share."""
    return (
        chart.configure(font="system-ui, sans-serif", background="white", padding=12)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK, titleColor=INK, titleFontWeight="normal", gridColor="#eeeeee", domainColor=QUIET
        )
        .configure_title(
            anchor="start", color=INK, fontSize=15, subtitleColor="#666666", subtitleFontSize=12, offset=10
        )
        .configure_legend(
            title=None, labelColor=INK, labelFontSize=12, labelLimit=400, orient="top", symbolType="square"
        )
    )


def safe(text: object) -> str:
    """Text that stays text in a saved picture or web page, on one line and not too long.

    Altair writes charts into a script, which "</script>" would end; a control character would end the renderer.

    >>> "</script>" in safe("</script>"), safe("a\\x00b")
    (False, 'a�b')
    """
    return shortened(text, _LONGEST).replace("<", "<\u200b")


def safe_labels(labels: Iterable[Hashable]) -> dict[Any, str]:
    """A safe text for each label, no two of them alike: two that look the same must not become one bar."""
    return {label: safe(shown) for label, shown in distinct_labels(labels).items()}


def formatted(guarantee: Any) -> str:
    """A guarantee in a few words: the parameters that it has.

    >>> from types import SimpleNamespace
    >>> formatted(SimpleNamespace(epsilon=0.1, delta=0))
    'epsilon 0.1'
    """
    parts = [(name, getattr(guarantee, name, None)) for name in ("epsilon", "delta", "rho")]
    return ", ".join(f"{name} {float(value):.4g}" for name, value in parts if value)


def bound_of(guarantee: Any) -> float | None:
    """The largest ratio e^epsilon, for guarantees that state an epsilon small enough to draw."""
    epsilon = getattr(guarantee, "epsilon", None)
    return None if epsilon is None or not epsilon < 100 else math.exp(float(epsilon))


def ratio_ticks(ratios: list[float]) -> list[float]:
    """Round numbers 1, 2, 5, 10 ... over the ratios drawn; powers of ten only, where there are many."""
    low, high = min(ratios), max(ratios)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    if len(exponents) > 4:
        step = math.ceil(len(exponents) / 6)
        return [10.0**exponent for exponent in exponents if exponent % step == 0]
    return [factor * 10.0**exponent for exponent in exponents for factor in (1, 2, 5)]


def ratio_panel(
    alt: Any,
    lines: Any,
    ratios: list[float],
    bound: float | None,
    *,
    width: int = WIDTH,
    first: bool = True,
    last: bool = True,
    endless: Any = None,
    vanishing: Any = None,
) -> Any:
    """A panel of ratios on a logarithmic scale with dashed lines at 1 and, where known, at e^epsilon and e^-epsilon.

    Of several panels in a row the first has the axis and the last names the lines. `endless` and `vanishing` are charts
    of the places where only the first dataset, or only the second, can have an outcome: the ratio is infinite, or 0.
    """
    named = {1.0: ""} if bound is None or bound == 1 else {1.0: "", bound: "e^ε", 1 / bound: "e^−ε"}
    marks = [{"at": at, "name": name} for at, name in named.items()]
    shown = [*ratios, *named]
    domain = [min(shown) / 1.15, max(shown) * 1.15]
    ticks = [tick for tick in ratio_ticks(domain) if domain[0] <= tick <= domain[1]]
    scale = alt.Scale(type="log", domain=domain, nice=False)
    title = "their ratio" if first else None
    axis = alt.Axis(values=ticks, format="~g", labels=first, ticks=first, domain=first)
    held = alt.Chart(alt.Data(values=marks))
    rules = held.mark_rule(color=QUIET, strokeDash=[4, 4]).encode(y=alt.Y("at:Q", scale=scale, title=title))
    names = held.mark_text(align="left", dx=6, color=INK, fontSize=12).encode(
        y=alt.Y("at:Q", scale=scale), x=alt.value(width), text="name:N"
    )
    layers = [rules, *([names] if last else []), lines.encode(y=alt.Y("ratio:Q", title=title, scale=scale, axis=axis))]
    for places, at, sign in ((endless, 9, "▲ ∞"), (vanishing, _RATIO_HEIGHT - 9, "▼ 0")):
        if places is not None:
            text = places.mark_text(color=ALARM, fontSize=13, fontWeight=600)
            layers.append(text.encode(y=alt.value(at), text=alt.value(sign)))
    return alt.layer(*layers).properties(width=width, height=_RATIO_HEIGHT)
