"""Records the queries of the catalog that real clients send, into corpus/: `python tests/server/wire/recording.py`.

Each file has the statements of one client, with the clinic's own numbers as they were; a line of dashes between them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import clients
from places import wired

from dither.server.wire.catalog.catalog import Catalog

CORPUS = Path(__file__).parent / "corpus"
BETWEEN = "\n--------\n"


def record() -> None:
    sent: list[str] = []
    answered = Catalog.rows

    def recorded(self: Catalog, text: str, connection: Any) -> Any:
        sent.append(text.strip().replace(connection.login.user, "alice.0123456789abcdef"))
        return answered(self, text, connection)

    Catalog.rows = recorded  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder, wired(Path(folder)) as clinic:
        for name, run in clients.ALL.items():
            sent.clear()
            run(clinic)
            texts = list(dict.fromkeys(sent))
            (CORPUS / f"{name}.sql").write_text(BETWEEN.join(texts) + "\n", encoding="utf-8")
            print(name, len(texts))


if __name__ == "__main__":
    record()
