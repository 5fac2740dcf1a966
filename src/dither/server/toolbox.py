"""What needs neither data nor budget: the mechanisms there are, and the price of a plan of releases."""

from __future__ import annotations

import inspect
from typing import Any

from dither.server.bodies import Field
from dither.server.endpoints import COMPUTING, EVERYBODY, Asked, Endpoint


def mechanisms(asked: Asked) -> Any:
    """Every mechanism of the toolbox with the guarantee that it states and the parameters that it takes."""
    from dither import mechanisms as toolbox

    known = {name: getattr(toolbox, name) for name in sorted(toolbox.HOMES)}
    stated = {name: kind for name, kind in known.items() if hasattr(kind, "guarantee") and name != "Release"}
    return [_mechanism(name, kind) for name, kind in stated.items()]


def _mechanism(name: str, kind: Any) -> dict[str, Any]:
    stated = inspect.signature(kind).parameters.values()
    guarantee = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
    parameters = [{"name": one.name, "required": one.default is inspect.Parameter.empty} for one in stated]
    return {"name": name, "guarantee": guarantee, "parameters": parameters}


def price(asked: Asked) -> Any:
    """What a written plan of releases costs under every theorem."""
    from dither.accounting.currency.price_plan import price_plan

    delta = asked.body.get("delta")
    priced = price_plan(asked.body["plan"], None if delta is None else str(delta))
    return {"delta": priced.delta, "theorems": [row.document() for row in priced.rows]}


def endpoints() -> tuple[Endpoint, ...]:
    """For everybody who has a token: nothing of the folder is in them."""
    plan = Field("plan", "text", 'Releases, such as "100 counts at 0.1, 1 median at 0.5".', required=True)
    delta = Field("delta", "number", "The delta at which epsilon is read, if the plan names none.")
    return (
        Endpoint("GET", "/mechanisms", EVERYBODY, "The mechanisms of the toolbox.", mechanisms),
        Endpoint(
            "POST", "/price", EVERYBODY, "What a plan of releases would cost.", price, (plan, delta), threads=COMPUTING
        ),
    )
