"""A session belongs to this page alone: its cookie opens nothing for other sites, other hosts, or scripts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after, sleep
from starlette.requests import Request

from dither.errors import ParameterError
from dither.server import bodies
from dither.server.page import page as module
from dither.server.page.page import Page
from dither.server.serve import Settings

PAGE = {"x_dither": "page"}


def begin(served: Any, token: str, **headers: str) -> Any:
    return served.call(None, "POST", "/session", {"token": token}, **{**PAGE, **headers})


def cookie(served: Any, who: str = "alice") -> str:
    reply = begin(served, served.tokens[who])
    assert reply.status == 200
    said = reply.headers["set-cookie"]
    assert {part.strip().lower() for part in said.split(";")[1:]} >= {"httponly", "samesite=strict", "path=/"}
    return said.split(";")[0]


def whose(served: Any, **headers: str) -> int:
    return served.call(None, "GET", "/v1/whoami", **headers).status


OTHERS = {
    "no header of the page": {"x_dither": ""},
    "another site": {"sec_fetch_site": "cross-site"},
    "a site beside it": {"sec_fetch_site": "same-site"},
    "another origin": {"origin": "http://evil.example"},
    "another port": {"origin": "http://127.0.0.1:1"},
    "no origin that can be told": {"origin": "null"},
    "a name that leads here": {"host": "evil.example"},
    "no host at all": {"host": "[127.0.0.1"},
    "an origin that is none": {"origin": "http://[127.0.0.1"},
}


def test_a_session_is_its_tokens(served: Any) -> None:
    held = cookie(served)
    assert whose(served, cookie=held, **PAGE) == 200
    found = served.call(None, "GET", "/session", cookie=held, **PAGE)
    assert found.json == {"role": "analyst", "name": "alice"}
    ended = served.call(None, "DELETE", "/session", cookie=held, **PAGE)
    assert 'dither=""' in ended.headers["set-cookie"]
    assert served.call(None, "GET", "/session", **PAGE).json == {"role": None, "name": None}


@pytest.mark.parametrize("case", OTHERS)
def test_nobody_else_can_use_it(served: Any, case: str) -> None:
    held = cookie(served)
    assert whose(served, **{**PAGE, "cookie": held, **OTHERS[case]}) == 401
    assert begin(served, served.tokens["alice"], **OTHERS[case]).status == 403
    assert served.call(None, "DELETE", "/session", **{**PAGE, "cookie": held, **OTHERS[case]}).status == 403


def test_what_is_meant_for_another_is_not_done(served: Any) -> None:
    """The cookie is that of all tabs: in one of them somebody else may have signed in since."""
    held = cookie(served)
    for stated, status in {"analyst%20alice": 200, "curator": 401, "analyst%20bob": 401, "": 401}.items():
        assert whose(served, cookie=held, x_dither_as=stated, **PAGE) == status, stated


def test_strangers_begin_none(served: Any) -> None:
    for token, status in (("", 401), ("dither_0123456789abcdef_" + "a" * 43, 401), ("x" * 5000, 413)):
        reply = begin(served, token)
        assert reply.status == status
        assert "set-cookie" not in reply.headers
    assert served.call(None, "POST", "/session", raw=b"[", **PAGE).status == 400


async def _silent() -> Any:
    await sleep(3600)


def check_silent(seconds: float) -> None:
    """Whoever begins to sign in and says nothing more is let go."""
    page: Any = Page(None, None, local=True)  # type: ignore[arg-type]
    headers = [(b"host", b"127.0.0.1:8000"), (b"x-dither", b"page")]
    request = Request({"type": "http", "method": "POST", "headers": headers}, _silent)

    async def begun() -> int:
        with fail_after(seconds):
            return int((await page._begin(request)).status_code)

    assert anyio.run(begun) == 408


def test_strangers_who_say_nothing_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_SECONDS", 0.01)
    check_silent(120)


def test_planted_bug_bodies_that_may_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    async def patient(parts: Any, most: int) -> bytes:
        return b"".join([part async for part in parts])

    monkeypatch.setattr(bodies, "MOST_SECONDS", 0.01)
    monkeypatch.setattr(module, "received", patient)
    with pytest.raises(TimeoutError):
        check_silent(0.5)


def test_a_revoked_token_ends_its_session(served: Any) -> None:
    held = cookie(served, "monitor")
    assert served.call("curator", "DELETE", f"/v1/tokens/{served.tokens['monitor'].split('_')[1]}").status == 200
    assert served.call(None, "GET", "/session", cookie=held, **PAGE).json["role"] is None
    assert whose(served, cookie=held, **PAGE) == 401


def test_files_are_small_compressed_and_careful(served: Any) -> None:
    total = 0
    for path in ("/", "/assets/page.js", "/assets/page.css", "/assets/icon.svg"):
        reply = served.call(None, "GET", path, accept_encoding="gzip")
        total += len(reply.body)
        policy = reply.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert served.call(None, "GET", path).body == gzip.decompress(reply.body)
        assert served.call(None, "GET", path, if_none_match=reply.headers["etag"]).status == 304
        assert served.call(None, "GET", path, host="evil.example").status == 403
    assert total < 300_000


class _Headers(dict[str, str]):
    def getlist(self, name: str) -> list[str]:
        return [self[name]] if name in self else []


class _Request:
    def __init__(self, **headers: str) -> None:
        self.headers = _Headers({name.replace("_", "-"): value for name, value in headers.items()})
        self.cookies = {"dither": "t", "__Host-dither": "t"}


def test_over_tls_the_cookie_is_bound_to_host_and_tls() -> None:
    page: Any = Page(None, None, local=False)  # type: ignore[arg-type]
    assert page.cookie == "__Host-dither"
    mine = {"host": "dither.example", "x_dither": "page"}
    assert page.credentials(_Request(**mine, origin="https://dither.example")) == ["Bearer t"]
    assert page.credentials(_Request(**mine, origin="https://other.example")) == []


def test_behind_a_proxy_the_page_is_at_its_origin_alone() -> None:
    page: Any = Page(None, None, local=True, origin="https://dither.example")  # type: ignore[arg-type]
    assert page.cookie == "__Host-dither"
    for host in ("dither.example", "127.0.0.1:8000"):  # proxies pass it on, or say their own
        asked = {"host": host, "x_dither": "page"}
        assert page.credentials(_Request(**asked, origin="https://dither.example")) == ["Bearer t"], host
        for other in ("https://other.example", "http://127.0.0.1:8000", "https://dither.example:444", "null"):
            assert page.credentials(_Request(**asked, origin=other)) == [], other
    for host in ("evil.example", "dither.example.evil", "", "dither.example:444"):
        assert page.credentials(_Request(host=host, x_dither="page")) == [], host


@pytest.mark.parametrize("origin", ["http://a.example", "a.example", "https://", "https://a/b", "https://a.example/"])
def test_an_origin_is_an_address_over_tls(origin: str) -> None:
    with pytest.raises(ParameterError, match="--origin is written https://NAME"):
        Settings("clinic", origin=origin).check()
    Settings("clinic", origin="https://dither.example:8443").check()


@pytest.mark.parametrize("case", [name for name in OTHERS if name != "no header of the page"])
def test_planted_bug_a_page_that_takes_every_request_for_its_own(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    page: Any = Page(None, None, local=True)  # type: ignore[arg-type]
    request = _Request(**{"host": "127.0.0.1:8000", **PAGE, **OTHERS[case]})
    assert page.credentials(request) == []
    monkeypatch.setattr(Page, "_ours", lambda *_: True)
    assert page.credentials(request) == ["Bearer t"]


def test_what_is_served_was_built_from_these_sources() -> None:
    from dither.server.page import build_record as built

    root = Path(__file__).parents[3]
    assert built.digest(root / "web") == json.loads(built.RECORD.read_text())["sources"]
