"""An aggregator over HTTP: participants hand in reports, the leader asks helpers, the collector closes the study."""

from __future__ import annotations

import hmac
import json
import logging
import os
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dither.errors import DitherError, ParameterError
from dither.server.listening import Listening, body_of, end_with_parent, not_for_ever, processes
from dither.study.aggregator import Aggregator, Secrets
from dither.study.errors import InvalidReport, StudyClosed, StudyClosing, TooFewReports, WordRefused
from dither.study.leader import Leader, pieces
from dither.study.organiser import read_study
from dither.study.reports import Report
from dither.study.study import Study

log = logging.getLogger("dither.study")

_VARIABLE = "DITHER_STUDY"
_MOST_INSIDE = 256 << 20  # bytes of a body between aggregators
_STATUS: dict[type[DitherError], int] = {
    WordRefused: 401,
    StudyClosed: 409,
    TooFewReports: 409,
    StudyClosing: 503,  # a participant's client asks again
}

Answer = Callable[[Any], Any]


class Service:
    """What can be asked of one aggregator."""

    def __init__(
        self, folder: Path, study: Study, secrets: Secrets, number: int, anchor: Path | str | None = None
    ) -> None:
        self.own = Aggregator(folder, study, secrets, number, anchor)
        self.leader = Leader(self.own) if number == 0 else None

    def start(self) -> None:
        if self.leader is not None:
            self.leader.start()

    def close(self) -> None:
        if self.leader is not None:
            self.leader.stop()
        self.own.close()

    # -- for everybody

    def study(self, _: Any) -> Any:
        """The study, and how many reports have come: participation is public."""
        return {**self.own.study.document(), "id": self.own.study.id.hex(), "reports": self.own.batch.counts()}

    def report(self, body: Any) -> Any:
        self._lead().receive(Report.read(body))
        return {"state": "received"}

    # -- for the leader

    def verify(self, body: Any) -> Any:
        told = self.own.told([Report.read(one) for one in body["reports"]])
        return {"told": [None if one is None else [b64encode(words).decode() for words in one] for one in told]}

    def check(self, body: Any) -> Any:
        told = [
            (bytes.fromhex(one["nonce"]), [[b64decode(text) for text in row] for row in one["told"]])
            for one in body["reports"]
        ]
        return {"valid": self.own.check(told)}

    def agree(self, body: Any) -> Any:
        if self.own.agreed(pieces(body["nonces"])).hex() != body["batch"]:
            raise InvalidReport("the reports of the batch are not the same here.")
        return {"agreed": True}

    def release(self, body: Any) -> Any:
        share = self.own.release(pieces(body["nonces"]), bytes.fromhex(body["batch"]))
        return {"share": b64encode(share).decode()}

    # -- for the collector

    def close_study(self, _: Any) -> Any:
        reports, shares = self._lead().close_study()
        return {"reports": reports, "shares": [b64encode(share).decode() for share in shares]}

    def _lead(self) -> Leader:
        if self.leader is None:
            raise ParameterError("reports and the collector go to the first aggregator.")
        return self.leader


def application(service: Service) -> Any:
    """The ASGI application of an aggregator."""
    from anyio import CapacityLimiter, to_thread
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    word = service.own.secrets.word
    table: list[tuple[str, str, str, Answer, int]] = [
        ("GET", "/study", "", service.study, 0),
        ("POST", "/reports", "", service.report, service.own.study.report_bytes),
        ("POST", "/verify", "helper", service.verify, _MOST_INSIDE),
        ("POST", "/check", "helper", service.check, _MOST_INSIDE),
        ("POST", "/agree", "helper", service.agree, _MOST_INSIDE),
        ("POST", "/release", "helper", service.release, _MOST_INSIDE),
        ("POST", "/close", "collector", service.close_study, 1 << 10),
    ]
    threads = CapacityLimiter(8)

    def route(method: str, path: str, purpose: str, answer: Answer, most: int) -> Any:
        async def handle(request: Request) -> Response:
            try:
                if purpose and not _knows(request.headers.get("authorization", ""), word(purpose)):
                    raise WordRefused
                body = json.loads(await body_of(request, most) or b"null") if most else None
                return JSONResponse(await to_thread.run_sync(answer, body, limiter=threads))
            except DitherError as error:
                return JSONResponse({"error": error.document()}, _STATUS.get(type(error), 400))
            except (LookupError, TypeError, ValueError, RecursionError):
                return JSONResponse({"error": InvalidReport("this is not what is asked here.").document()}, 400)

        return Route(f"/v1{path}", handle, methods=[method])

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        service.start()
        yield
        await to_thread.run_sync(service.close)

    return Starlette(routes=[route(*one) for one in table], lifespan=lifespan)


def _knows(header: str, word: str) -> bool:
    return hmac.compare_digest(header.encode(), f"Bearer {word}".encode())


def made() -> Any:
    """The application of a process that `run` has started."""
    end_with_parent()
    stated = json.loads(os.environ[_VARIABLE])
    return not_for_ever(application(Service(*_opened(**stated))))


def _opened(
    folder: str, study: str, secrets: str, number: int, anchor: str | None
) -> tuple[Path, Study, Secrets, int, str | None]:
    try:
        shared = Secrets.read(json.loads(Path(secrets).read_text()))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ParameterError(f"{secrets} is no secrets.json, as `dither study init` has written it.") from None
    return Path(folder), read_study(Path(study)), shared, number, anchor


def run(
    where: Listening, folder: Path, study: Path, secrets: Path, number: int, anchor: Path | str | None = None
) -> None:
    """Serve one aggregator until a signal says stop."""
    where.check()
    stated: dict[str, Any] = {"folder": str(folder), "study": str(study), "secrets": str(secrets), "number": number}
    stated["anchor"] = None if anchor is None else str(anchor)
    Aggregator(*_opened(**stated)).close()  # what is wrong is said here, not by processes that die again and again
    os.environ[_VARIABLE] = json.dumps(stated)
    processes(f"{__name__}:made", where).serve()
