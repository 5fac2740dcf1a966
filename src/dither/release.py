"""The only place where exact aggregates meet their noise. They arrive sealed; only a mechanism can open them."""

from __future__ import annotations

import numpy as np

from dither.answer.released import NoisyMeasure, Released
from dither.engines.protocol import Engine
from dither.sql.price import PricedQuestion


def release(priced: PricedQuestion, engine: Engine) -> Released:
    """Run the statements and add to each measure the noise that the price bought."""
    exact = [sealed for statement in priced.statements for sealed in engine.run(statement)]
    noisy = [
        NoisyMeasure(item.measure.text, np.asarray(item.mechanism.release(sealed).value), item.parameters())
        for item, sealed in zip(priced.measures, exact, strict=True)
    ]
    return Released(priced.asked, noisy)
