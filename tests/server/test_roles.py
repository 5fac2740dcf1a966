"""Every endpoint for every role: who may, may; all others are refused before anything is read."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from dither import Curator, PureDP
from dither.ledger.officer.orders import make_key
from dither.server.admin_listener import listener
from dither.server.metrics import Sums
from dither.server.serve import Server, Settings

ROLES = {"alice": "analyst", **{role: role for role in ("curator", "auditor", "administrator", "monitor")}}


REST = {"analyst": "alice", "number": "1"}


@pytest.fixture(scope="module")
def endpoints(served: Any) -> Any:
    server = Server(Settings(str(served.folder), remote_admin=True))
    yield server.endpoints
    server.close()


@pytest.fixture(scope="module")
def listeners(served: Any, endpoints: Any) -> Any:
    """Every endpoint with the port that it is served at."""
    here = [(endpoint, served.port) for endpoint in endpoints]
    return [*here, *((endpoint, served.admin_port) for endpoint in listener.endpoints(Sums()))]


def test_every_endpoint_for_every_role(served: Any, listeners: Any) -> None:
    assert len(listeners) > 20
    for endpoint, port in listeners:
        path = "/v1" + endpoint.path.format(id="0" * 32, table="nosuch", people="nobody", **REST)
        for who, role in ROLES.items():
            # An empty body is refused by every endpoint that has one, so that nothing is made here.
            reply = served.call(who, endpoint.method, path, raw=b"" if endpoint.fields else None, port=port)
            if role in endpoint.roles:
                assert reply.status not in (401, 403), (endpoint.name, who, reply)
            else:
                assert (reply.status, reply.code) == (403, "forbidden"), (endpoint.name, who, reply)


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer x", "Basic YWxpY2U6", "Bearer dither_0000000000000000_" + "A" * 43]
)
def test_strangers_all_hear_the_same(served: Any, listeners: Any, header: str) -> None:
    for endpoint, port in listeners:
        path = "/v1" + endpoint.path.format(id="0" * 32, table="visits", people="patients", **REST)
        reply = served.call(None, endpoint.method, path, raw=b"{}", port=port, Authorization=header)
        assert (reply.status, reply.code) == (401, "stranger")
        assert reply.headers["www-authenticate"] == "Bearer"


def test_each_listener_describes_its_own_endpoints(served: Any, listeners: Any) -> None:
    for port in (served.port, served.admin_port):
        known = {(f"/v1{one.path}", one.method.lower()) for one, its in listeners if its == port}
        known |= {("/v1/uploads", "post")} if port == served.port else set()
        paths = served.call(None, "GET", "/v1/openapi.json", port=port).json["paths"]
        assert {(path, method) for path, methods in paths.items() for method in methods} == known
    assert served.call("monitor", "GET", "/v1/metrics").status == 404, "counts are at the admin listener alone"
    assert served.call("curator", "POST", "/v1/uploads", port=served.admin_port).status == 404


def test_granting_is_local_unless_told(tmp_path: Any, served: Any) -> None:
    server = Server(Settings(str(served.folder)))
    granting = {(one.method, one.path) for one in server.endpoints}
    server.close()
    assert not granting & {("POST", path) for path in ("/people", "/analysts", "/tokens", "/grants")}
    assert not granting & {("POST", f"/people/{{people}}/{order}") for order in ("lower", "close")}


def test_the_life_of_an_account_by_an_administrator(served: Any, tmp_path: Any) -> None:
    """A grant is carried out where it was signed for, and nowhere else."""
    call = partial(served.call, "administrator", "POST")
    people = {"name": "nurses", "epsilon": 2}
    assert call("/v1/people", people).status == 200
    assert call("/v1/analysts", {"name": "alice", "people": "nurses", "epsilon": 1}).status == 200
    assert call("/v1/people/nurses/analysts/alice/freeze", {"reson": "x"}).status == 400
    assert call("/v1/people/nurses/analysts/alice/freeze", {"reason": "on leave"}).json == {"frozen": "alice"}
    assert call("/v1/people/nurses/analysts/alice/thaw").json == {"thawed": "alice"}
    less = {"analyst": "alice", "reason": "half is enough", "epsilon": "0.5"}
    assert call("/v1/people/nurses/lower", less).json == {"lowered": "nurses"}
    with Curator.open(served.folder) as curator:
        curator.officer.enrol(make_key(tmp_path / "officer.pem"))
        order = curator.officer.draft("nurses", budget=PureDP(3), reason="one more")
    unsigned = call("/v1/grants", {"order": order.document("00" * 64)})
    assert (unsigned.status, unsigned.code) == (400, "signature_refused")
    assert call("/v1/grants", {"order": {}}).status == 400
    signed = order.document(order.signed(tmp_path / "officer.pem"))
    assert call("/v1/grants", {"order": signed}).json == {"granted": "nurses"}
    assert call("/v1/grants", {"order": signed}).code == "signature_refused"
    assert call("/v1/people/nurses/close", {"reason": "for good"}).json == {"closed": "nurses"}
    found = served.call("administrator", "GET", "/v1/people").json
    (nurses,) = (one for one in found if (one["people"], one["analyst"]) == ("nurses", None))
    assert (nurses["granted"], nurses["state"]) == ({"epsilon": "3"}, "closed for good")


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
