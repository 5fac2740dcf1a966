"""Other accountants as live oracles, from the dependency group `oracles`.

`make test` runs this folder in an environment that has them, where collecting nothing is an error; elsewhere it is left
out of the collection.
"""

from __future__ import annotations

import importlib.util

PACKAGES = ("dp_accounting", "prv_accountant", "autodp", "mpmath")
collect_ignore_glob = [] if all(importlib.util.find_spec(package) for package in PACKAGES) else ["test_*.py"]
