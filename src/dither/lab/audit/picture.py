"""The measured profile against the claimed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dither.plot.style import FIRST, SECOND, WIDTH, load, safe, styled

if TYPE_CHECKING:
    from dither.lab.audit.verdict import Verdict

_LEAST = 1e-7


def plot_profile(verdict: Verdict) -> Any:
    """An altair chart of delta against epsilon, on a logarithmic scale: what was claimed, and what was certified.

    Where the certified line is above the claimed one, the claim is refuted.
    """
    alt = load()
    names = ["claimed: at most", "certified: at least"]
    profile = verdict.profile
    rows = [
        {"epsilon": epsilon, "delta": delta, "line": name}
        for name, deltas in zip(names, (profile.claimed, profile.lower), strict=True)
        for epsilon, delta in zip(profile.epsilons, deltas, strict=True)
        if delta > _LEAST
    ]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point={"size": 20}, strokeWidth=1.8)
        .encode(
            x=alt.X("epsilon:Q", title="epsilon"),
            y=alt.Y("delta:Q", title="delta", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g", tickCount=6)),
            color=alt.Color("line:N", scale=alt.Scale(domain=names, range=[FIRST, SECOND])),
        )
        .properties(width=WIDTH, height=240)
    )
    heading = "The claim holds up" if verdict.passed else "The claim is refuted"
    return styled(chart.properties(title=alt.Title(heading, subtitle=safe(str(verdict)).split("; ")[:2])))
