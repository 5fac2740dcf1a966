"""`dither demo --serve`: the clinic behind a server on this machine, with a page and a token for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dither import ApproxDP, Curator
from dither.curator.principal import Principal
from dither.demo import clinic
from dither.errors import LedgerMissing
from dither.server.listening import check_free
from dither.server.serve import free_port
from dither.server.store import Store
from dither.server.tokens import Tokens

QUESTION = "SELECT region, COUNT(*) AS visits FROM visits GROUP BY region"


def make(folder: Path, patients: int) -> None:
    """A curator's folder with the clinic and an analyst, unless it is there already."""
    try:
        Curator.open(folder, create=False).close()
        return
    except LedgerMissing:
        pass
    with Curator.open(folder, create=True) as curator:
        raw = folder / "visits.parquet"
        clinic.write_visits(raw, patients)
        curator.people("patients", budget=ApproxDP(4, "1e-6"))
        curator.register(
            "visits",
            raw,
            people="patients",
            owner="patient_id",
            max_rows_per_owner=clinic.MOST_VISITS,
            columns=clinic.COLUMNS,
        )
        curator.analyst("alice", budget=ApproxDP(2, "1e-7"))
        raw.unlink()


def token(folder: Path) -> str:
    """A new token of alice's, valid for a day."""
    store = Store(folder)
    try:
        return Tokens(store).make(Principal.analyst("alice"), days=1, label="make serve")
    finally:
        store.close()


def serve(folder: Path, port: int, patients: int, program: str) -> None:
    """Make what is missing, say how to ask it, and serve in place of this process; `program` is how to call dither."""
    port = port or free_port("127.0.0.1")
    check_free("127.0.0.1", port)
    make(folder, patients)
    text = token(folder)
    address = f"http://127.0.0.1:{port}"
    print(f"address: {address}\ntoken:   {text}\n")
    print(f"Open {address}/#Tour in a browser and sign in with the token, for a short tour. The curator's page:")
    print(f"sign in with a token of `{program} token make {folder} --role curator`. Or ask from elsewhere:\n")
    print(f"curl -H 'Authorization: Bearer {text}' \\")
    print(f'  -d \'{{"sql": "{QUESTION}", "epsilon": 0.5}}\' \'{address}/v1/query?format=csv\'\n')
    print(f'import dither as dt; alice = dt.connect("{address}", "{text}")\n', flush=True)
    command = [sys.executable, "-m", "dither.cli.main", "serve", str(folder), "--port", str(port)]
    os.execv(sys.executable, command)
