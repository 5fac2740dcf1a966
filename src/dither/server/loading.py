"""Loads tables in a process of its own: whatever a file does to its reader, the server goes on.

One JSON document comes in on standard input and one goes out: what was loaded, or the error. It is started by
`load` and opens the curator's folder itself, so that locks and the ledger work as between any two processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dither.errors import DitherError, PolicyError
from dither.escape import json_text


class LoadFailed(PolicyError):
    """A file could not be loaded; the document is what the loading process said, with its own code."""

    code = "load_failed"

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document["message"])
        self._document = document

    def document(self) -> dict[str, Any]:
        return self._document


def load(order: dict[str, Any]) -> Any:
    """Run an order in a process of its own, and wait for it."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dither.server.loading"],
        input=json.dumps(order).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it may hold data
        check=False,
    )
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = {"error": {"code": "load_failed", "message": "the file could not be loaded.", "fields": {}}}
    if "error" in found:
        raise LoadFailed(found["error"])
    return found


def _drafted(path: Path) -> Any:
    """What `dither init --from` would write of a file's columns."""
    import tomllib

    from dither.curator.policy_files.draft import draft

    (table,) = tomllib.loads(draft([path], path))["tables"].values()
    return {name: table[name] for name in ("columns", "delimiter") if name in table}


def _carried_out(order: dict[str, Any]) -> Any:
    if "draft" in order:
        return _drafted(Path(order["draft"]))
    from dither.curator.curator import Curator
    from dither.curator.policy_files.application import apply
    from dither.curator.policy_files.reading import plan_of

    with Curator.open(order["folder"], create=False, **order["anchor"]) as curator:
        if "refresh" in order:
            source, stated = Path(order["source"]), {"delimiter": order["delimiter"], "strict": order["strict"]}
            return asdict(curator.refresh(order["refresh"], source, **stated))
        granted = {account: curator._ledger.terms(*account) for account in curator._ledger.accounts()}
        made = apply(curator, plan_of(order["policy"], Path(order["file"])), granted, strict=order["strict"])
        loaded = {name: asdict(report) for name, report in made.loaded.items()}
        return {"opened": [list(account) for account in made.opened], "loaded": loaded, "kept": list(made.kept)}


def main() -> None:
    try:
        found = _carried_out(json.load(sys.stdin))
    except DitherError as error:
        found = {"error": error.document()}
    sys.stdout.write(json_text(found))


if __name__ == "__main__":
    main()
