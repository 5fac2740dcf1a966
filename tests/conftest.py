"""Property tests have the same examples in every run, however slow the machine; a campaign draws new ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1")) > 1
settings.register_profile(
    "dither", deadline=None, derandomize=not CAMPAIGN, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dither")
