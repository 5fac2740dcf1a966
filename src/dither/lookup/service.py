"""One server of a published release. It holds nothing private, and learns nothing of what is looked up."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dither.errors import DitherError
from dither.lookup.cells import Published, open_published
from dither.lookup.lwe import SEED, LweDatabase
from dither.lookup.xor import XorDatabase
from dither.server.listening import Listening, body_of, end_with_parent, not_for_ever, processes

_VARIABLE = "DITHER_LOOKUP"
_MOST_BYTES = 4 << 20  # of a query: more than any layout asks for

Answer = Callable[[bytes], bytes]


def application(published: Published) -> Any:
    """The ASGI application over one release."""
    from anyio import to_thread
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    pairs, single = XorDatabase(published.content), LweDatabase(published.content, published.hint[:SEED])

    def asked(answer: Answer) -> Any:
        async def handle(request: Request) -> Response:
            try:
                query = await body_of(request, _MOST_BYTES)
                return Response(await to_thread.run_sync(answer, query), media_type="application/octet-stream")
            except DitherError as error:
                return JSONResponse({"error": error.document()}, 400)

        return handle

    index = JSONResponse(published.cells.document())
    hint = Response(published.hint, media_type="application/octet-stream")
    return Starlette(
        routes=[
            Route("/v1/index", lambda _: index),
            Route("/v1/hint", lambda _: hint),
            Route("/v1/xor", asked(pairs.answer), methods=["POST"]),
            Route("/v1/lwe", asked(single.answer), methods=["POST"]),
        ]
    )


def made() -> Any:
    """The application of a process that `run` has started."""
    end_with_parent()
    return not_for_ever(application(open_published(Path(os.environ[_VARIABLE]))))


def run(where: Listening, folder: Path) -> None:
    """Serve until a signal says stop."""
    where.check()
    os.environ[_VARIABLE] = str(folder)
    processes(f"{__name__}:made", where).serve()
