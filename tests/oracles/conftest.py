"""Other accountants as live oracles, from the dependency group `oracles`; without it this folder is not collected."""

from __future__ import annotations

import importlib.util

PACKAGES = ("dp_accounting", "prv_accountant", "autodp")
collect_ignore_glob = [] if all(importlib.util.find_spec(package) for package in PACKAGES) else ["test_*.py"]
