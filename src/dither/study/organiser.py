"""What the organiser of a study makes once: the study for everybody, secrets for aggregators, invitations."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from dither.errors import ParameterError
from dither.study.aggregator import Secrets
from dither.study.reports import INVITATION
from dither.study.study import Study, stated_study

STUDY, SECRETS, INVITATIONS, COLLECTOR = "study.json", "secrets.json", "invitations.txt", "collector.txt"


def init_study(stated: Mapping[str, Any], folder: Path, invited: int) -> Study:
    """Write the files of a new study. The key that picks what proofs are asked is drawn, and committed to, here."""
    if not 1 <= invited <= 10**7:
        raise ParameterError("invite 1 to 10^7 participants.")
    key = secrets.token_bytes(32)
    study = stated_study(stated, sha256(key).digest())
    if invited > study.most_reports:
        raise ParameterError(f"the study takes {study.most_reports} reports at most (most_reports); invite no more.")
    tokens = [secrets.token_bytes(INVITATION) for _ in range(invited)]
    shared = Secrets(key, frozenset(sha256(token).digest() for token in tokens))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(folder / STUDY, json.dumps(study.document(), indent=1))
    _write(folder / SECRETS, json.dumps(shared.document()))
    _write(folder / INVITATIONS, "".join(f"{token.hex()}\n" for token in tokens))
    _write(folder / COLLECTOR, shared.word("collector"))
    return study


def read_study(path: Path) -> Study:
    try:
        return Study.read(json.loads(path.read_text()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{path} is no study.") from None


def _write(path: Path, text: str) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ParameterError(f"{path} is there already: a study is made once.") from None
    with os.fdopen(handle, "w") as file:
        file.write(text)
