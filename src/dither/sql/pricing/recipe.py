"""How a question is answered, as its reservation records it: what a later run under the same charge is held to.

Statements are no part of it: an upgrade may write them differently. What protects people is recorded and compared: the
snapshot, what was decided, and for each measure what one owner can move it by and the mechanism that covers that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dither.records.versions import PLAN, VERSION, version_of
from dither.sensitivity import Sensitivity

if TYPE_CHECKING:
    from dither.sql.pricing.price import PricedQuestion


@dataclass(frozen=True)
class Recipe:
    """Measures by their text, each with its sensitivities and its mechanism, and the strategy as a document.

    `asked` is the price as it was stated. None: a plan of version 1 does not say.
    """

    strategy: Mapping[str, Any]
    mechanisms: tuple[Mapping[str, str], ...]
    measures: tuple[str, ...] | None = None
    sensitivities: tuple[Mapping[str, str], ...] | None = None
    snapshot: str | None = None
    asked: Mapping[str, str] | None = None

    @classmethod
    def of(cls, priced: PricedQuestion) -> Recipe:
        return cls(
            priced.strategy.document(),
            tuple(item.parameters() for item in priced.measures),
            tuple(item.measure.text for item in priced.measures),
            tuple(_norms(item.sensitivity) for item in priced.measures),
            priced.snapshot,
            priced.asked,
        )

    def to_json(self) -> str:
        """What a reservation records, in the newest version."""
        parts = zip(self.measures or (), self.sensitivities or (), self.mechanisms, strict=True)
        document = {
            VERSION: PLAN,
            "asked": self.asked,
            "snapshot": self.snapshot,
            **({"strategy": self.strategy} if self.strategy else {}),
            "measures": [
                {"measure": measure, "sensitivity": moved, "mechanism": mechanism}
                for measure, moved, mechanism in parts
            ],
        }
        return json.dumps(document, sort_keys=True, separators=(",", ":"))

    @classmethod
    def read(cls, plan: str) -> Recipe:
        """What a reservation recorded, in whatever version."""
        document = json.loads(plan)
        strategy = document.get("strategy", {})
        if version_of(document, PLAN, "a recorded plan") == 1:
            return cls(strategy, tuple(document["mechanisms"]))
        measures, moved, mechanisms = (
            tuple(item[name] for item in document["measures"]) for name in ("measure", "sensitivity", "mechanism")
        )
        return cls(strategy, mechanisms, measures, moved, document["snapshot"], document["asked"])

    def allows(self, run: Recipe) -> bool:
        """Whether a run, as everything is computed now, is the one that was recorded and paid for.

        What the guard says now counts: if it finds another sensitivity than then, there is no such run any more. In a
        plan of version 1 mechanisms alone tell that, since each follows from its measure's sensitivity.
        """
        same = (self.strategy, self.mechanisms) == (run.strategy, run.mechanisms)
        if self.measures is None:
            return same
        recorded = (self.measures, self.sensitivities, self.snapshot)
        return same and recorded == (run.measures, run.sensitivities, run.snapshot)


def _norms(sensitivity: Sensitivity) -> dict[str, str]:
    """L1, L2 by its square, and Linf, each exact."""
    norms = {"l1": sensitivity.l1, "l2_squared": sensitivity.l2_squared, "linf": sensitivity.linf}
    return {name: str(norm) for name, norm in norms.items()}
