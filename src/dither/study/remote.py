"""What participants and the collector send to the first aggregator."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from dither.client.connection import Connection
from dither.study.reports import make_report
from dither.study.result import Result
from dither.study.study import Study


class Participant:
    """Makes reports and hands them in; what was answered leaves this process in sealed shares only."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._connection = Connection(study.aggregators[0].url, "participant")

    def report(self, invitation: bytes, answers: Mapping[str, Any]) -> None:
        """One report; a lost reply is no harm, since the same report is taken once."""
        self._connection.send("POST", "/reports", make_report(self._study, invitation, answers).document())


def collect(study: Study, word: str) -> Result:
    """Close the study; the same result however often it is asked for."""
    found = json.loads(Connection(study.aggregators[0].url, word, timeout=600).send("POST", "/close", {}))
    return Result.of(study, found["reports"], [b64decode(share) for share in found["shares"]])
