"""Every endpoint for every role: who may, may; all others are refused before anything is read."""

from __future__ import annotations

from typing import Any

import pytest

from dither.server.serve import Server, Settings

ROLES = {"alice": "analyst", "curator": "curator", "auditor": "auditor", "administrator": "administrator"}


@pytest.fixture(scope="module")
def endpoints(served: Any) -> Any:
    server = Server(Settings(str(served.folder), remote_admin=True))
    yield server.endpoints
    server.close()


def test_every_endpoint_for_every_role(served: Any, endpoints: Any) -> None:
    assert len(endpoints) > 20
    for endpoint in endpoints:
        path = "/v1" + endpoint.path.format(id="0" * 32, table="nosuch", people="nobody")
        for who, role in ROLES.items():
            # An empty body is refused by every endpoint that has one, so that nothing is made here.
            reply = served.call(who, endpoint.method, path, raw=b"" if endpoint.fields else None)
            if role in endpoint.roles:
                assert reply.status not in (401, 403), (endpoint.name, who, reply)
            else:
                assert (reply.status, reply.code) == (403, "forbidden"), (endpoint.name, who, reply)


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer x", "Basic YWxpY2U6", "Bearer dither_0000000000000000_" + "A" * 43]
)
def test_strangers_all_hear_the_same(served: Any, endpoints: Any, header: str) -> None:
    for endpoint in endpoints:
        path = "/v1" + endpoint.path.format(id="0" * 32, table="visits", people="patients")
        reply = served.call(None, endpoint.method, path, raw=b"{}", Authorization=header)
        assert (reply.status, reply.code) == (401, "stranger")
        assert reply.headers["www-authenticate"] == "Bearer"


def test_granting_is_local_unless_told(tmp_path: Any, served: Any) -> None:
    server = Server(Settings(str(served.folder)))
    granting = {(one.method, one.path) for one in server.endpoints}
    server.close()
    assert not granting & {("POST", "/people"), ("POST", "/analysts"), ("POST", "/tokens")}


def test_nobody_but_an_administrator_grants_by_policy(served: Any) -> None:
    policy = {"people": {"staff": {"epsilon": 1, "delta": "1e-6"}}}
    assert served.call("curator", "POST", "/v1/tables", {"policy": policy}).status == 403
    assert served.call("administrator", "POST", "/v1/tables", {"policy": policy}).json["opened"] == [["staff", None]]


def test_a_revoked_token_ends_at_once(served: Any) -> None:
    made = served.call("administrator", "POST", "/v1/tokens", {"role": "analyst", "name": "bob"}).json["token"]
    assert served.call(made, "GET", "/v1/tables").status == 200
    assert served.call("curator", "DELETE", f"/v1/tokens/{made.split('_')[1]}").status == 200
    for _ in range(8):  # of all processes
        assert served.call(made, "GET", "/v1/tables").status == 401


def test_every_response_has_careful_headers(served: Any) -> None:
    for who, path in (("alice", "/v1/tables"), (None, "/v1/tables"), ("alice", "/nosuch"), (None, "/health")):
        headers = served.call(who, "GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers or "granian" not in headers["server"]
