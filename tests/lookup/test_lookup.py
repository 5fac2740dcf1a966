"""Look-ups: every cell is read right, queries say nothing, and what is not the release is refused."""

from __future__ import annotations

import json
import secrets
import tracemalloc
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.lookup.cells import Cells, open_published, publish
from dither.lookup.client import Lookup
from dither.lookup.lwe import SEED, LweClient, LweDatabase, Upright, _rows_of_a
from dither.lookup.xor import Square, XorDatabase

SHAPES = [(1, 8), (7, 8), (1000, 8), (1000, 16), (4096, 24), (10, 200)]
ROWS = {"region": ["north", "south", "north"], "month": [1, 1, 3], "n": [5, -7, 0], "mean": [0.5, 1.5, -2.0]}


def database(shape: tuple[int, int]) -> np.ndarray:
    return np.frombuffer(secrets.token_bytes(shape[0] * shape[1]), np.uint8).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_two_servers_read_every_cell(shape: tuple[int, int]) -> None:
    cells = database(shape)
    server = XorDatabase(cells)
    for number in {0, shape[0] - 1, shape[0] // 2}:
        first, second = server.square.queries(number)
        assert server.square.cell(number, (server.answer(first), server.answer(second))) == cells[number].tobytes()


def test_an_answer_copies_little_of_the_release() -> None:
    """Whoever asks often at once takes time, and not many times the memory of the release."""
    server = XorDatabase(database((1 << 21, 8)))
    query, _ = server.square.queries(0)
    tracemalloc.start()
    try:
        server.answer(query)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20  # of 16 MiB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", SHAPES)
def test_one_server_reads_every_cell(shape: tuple[int, int]) -> None:
    cells = database(shape)
    server = LweDatabase(cells, secrets.token_bytes(SEED))
    client = LweClient.of(server.layout, server.hint())
    for number in {0, shape[0] - 1, shape[0] // 2}:
        query, secret = client.query(number)
        assert client.cell(number, secret, server.answer(query)) == cells[number].tobytes()


@pytest.mark.parametrize("byte", [0, 127, 128, 255])
def test_answers_are_exact_at_the_largest_sums(byte: int) -> None:
    """All digits of a block as large as they can be: what floats add up is compared with whole numbers."""
    cells = np.full((20_000, 8), byte, np.uint8)
    server = LweDatabase(cells, bytes(SEED))
    query = b"\xff" * 4 * server.layout.columns
    digit, columns = (byte ^ 128) - 128, server.layout.columns
    last = columns * server.layout.per_column - len(cells)
    answer = np.frombuffer(server.answer(query), "<u4")
    assert last == 0
    assert set(answer.tolist()) == {digit * 0xFFFFFFFF * columns % 2**32}


def test_the_hint_is_the_product_by_its_definition() -> None:
    cells = database((600 * 16, 8))
    server = LweDatabase(cells, secrets.token_bytes(SEED))
    matrix = cells.reshape(600, 128).view(np.int8).astype(object).T
    public = np.concatenate(list(_rows_of_a(server.seed, 600, 100))).astype(object)
    hint = np.frombuffer(server.hint(), "<u4", offset=SEED).reshape(128, -1)
    assert (matrix[:3].dot(public) % 2**32 == hint[:3]).all()


def test_either_set_of_rows_alone_is_uniform() -> None:
    """Each bit of either query is set half of the time, the wanted one too: within 6.5 standard errors."""
    square, rounds = Square(64, 8), 2000
    counts = np.zeros((2, square.rows))
    for _ in range(rounds):
        for side, query in enumerate(square.queries(9)):
            counts[side] += np.unpackbits(np.frombuffer(query, np.uint8), bitorder="little")[: square.rows]
    assert np.abs(counts - rounds / 2).max() < 6.5 * np.sqrt(rounds) / 2


def test_planted_a_first_query_without_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.lookup.xor.secrets.token_bytes", bytes)
    with pytest.raises(AssertionError):
        test_either_set_of_rows_alone_is_uniform()


def test_every_query_has_a_secret_of_its_own() -> None:
    """Under one secret two queries would differ by their small errors, and by 2^24 where the wanted columns are."""
    server = LweDatabase(database((1000, 8)), bytes(SEED))
    client = LweClient.of(server.layout, server.hint())
    one, other = (np.frombuffer(client.query(number)[0], "<u4") for number in (5, 700))
    apart = (one - other).view(np.int32).astype(np.int64)
    assert (np.abs(apart) > 2**28).mean() > 0.4  # of uniform differences 7 in 8, of 63 of them


def test_planted_one_secret_for_all_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.lookup.lwe.secrets.token_bytes", lambda size: b"\x5a" * size)
    with pytest.raises(AssertionError):
        test_every_query_has_a_secret_of_its_own()


@pytest.mark.parametrize(
    "urls",
    [
        ("http://127.0.0.1:9", "http://127.0.0.1:9/"),
        ("http://127.0.0.1:9", "http://localhost:9"),
        ("http://[::1]:9", "http://LOCALHOST.:9"),
        ("https://one.example", "HTTPS://One.example:443/"),
        ("https://one.example", "https://one.example."),
    ],
)
def test_two_servers_are_not_one(urls: tuple[str, str]) -> None:
    with pytest.raises(ParameterError, match="are one"):
        Lookup(*urls)


def test_sizes_follow_from_the_number_of_cells() -> None:
    layout = Upright(10**6, 8)
    assert (layout.rows, layout.columns) == (128, 62_500)
    assert 4 * 1024 * layout.rows + SEED + 4 * layout.columns + 4 * layout.rows < 8 * 10**6 / 8
    assert 4 * layout.columns + 4 * layout.rows < 8 * 10**6 / 25


def test_a_release_becomes_cells_and_is_read_back(tmp_path: Path) -> None:
    cells = publish(ROWS, ["n", "mean"], tmp_path)
    published = open_published(tmp_path)
    assert published.cells == cells == Cells.of(cells.document())
    found = {
        (region, month): cells.read(published.content[cells.number(region=region, month=month)].tobytes())
        for region in ("north", "south")
        for month in (1, 3)
    }
    assert found == {
        ("north", 1): {"n": 5, "mean": 0.5},
        ("north", 3): {"n": 0, "mean": -2.0},
        ("south", 1): {"n": -7, "mean": 1.5},
        ("south", 3): None,
    }


def test_a_row_without_a_value_is_a_row(tmp_path: Path) -> None:
    """Such as an average of which there is no information, beside a count."""
    rows = {"region": ["north", "south"], "month": [1, 3], "n": [5, 0], "mean": [None, float("nan")]}
    cells = publish(rows, ["n", "mean"], tmp_path)
    published = open_published(tmp_path)
    found = [cells.read(row.tobytes()) for row in published.content]
    assert found == [{"n": 5, "mean": None}, None, None, {"n": 0, "mean": None}]
    with pytest.raises(ParameterError, match="eight bytes"):
        publish({"region": ["north"], "n": [-(2**63)]}, ["n"], tmp_path / "least")


def test_whole_numbers_without_a_gap_are_known_by_their_ends(tmp_path: Path) -> None:
    cells = publish({"id": list(range(500)), "n": list(range(500))}, ["n"], tmp_path)
    assert cells.document()["keys"] == [["id", {"range": [0, 500]}]]
    assert Cells.of(cells.document()).number(id=499) == 499


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="same keys"):
        publish({"region": ["a", "a"], "n": [1, 2]}, ["n"], tmp_path / "twice")
    with pytest.raises(ParameterError):
        publish(ROWS, ["missing"], tmp_path / "missing")


def change(name: str, folder: Path) -> None:
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    (folder / name).write_bytes(bytes(content))


@pytest.mark.parametrize("name", ["cells.bin", "hint.bin"])
def test_a_server_serves_nothing_but_what_was_published(tmp_path: Path, name: str) -> None:
    publish(ROWS, ["n"], tmp_path)
    change(name, tmp_path)
    with pytest.raises(ParameterError, match="not those that were published"):
        open_published(tmp_path)


def test_the_digest_stands_for_keys_kinds_cells_and_hint(tmp_path: Path) -> None:
    """Other keys over the same cells are another release; an index that states another digest is none."""
    cells = publish(ROWS, ["n"], tmp_path)
    renamed = {**ROWS, "region": ["nord", "south", "nord"]}
    assert publish(renamed, ["n"], tmp_path / "renamed").digest != cells.digest
    assert publish(ROWS, ["n"], tmp_path / "again").digest == cells.digest
    document = cells.document()
    for name, wrong in (
        ("keys", [["region", ["south", "north"]], ["month", [1, 3]]]),
        ("keys", [["region", {"range": [0, 10**18]}]]),
        ("keys", []),
        ("values", [["n", "float"]]),
        ("values", [["n", "text"]]),
        ("content", "00" * 32),
        ("hint", "00" * 32),
        ("digest", "00" * 32),
        ("version", 1),
    ):
        with pytest.raises(ParameterError, match="no index"):
            Cells.of({**document, name: wrong})
    for hostile in (None, [], "x", {}, {**document, "keys": 7}, {**document, "keys": [["a", {"range": "ab"}]]}):
        with pytest.raises(ParameterError, match="no index"):
            Cells.of(hostile)


def test_planted_a_digest_of_the_cells_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cells, "digest", property(lambda self: self.content))
    with pytest.raises(AssertionError):
        test_the_digest_stands_for_keys_kinds_cells_and_hint(tmp_path)


class Remembered:
    """A server's replies by path, instead of the network."""

    def __init__(self, replies: dict[str, Any]) -> None:
        self.replies = replies

    def send(self, method: str, path: str, body: bytes = b"") -> bytes:
        reply = self.replies[path]
        return bytes(reply(body)) if callable(reply) else bytes(reply)


def served(folder: Path, monkeypatch: pytest.MonkeyPatch, servers: int, **changed: Any) -> Lookup:
    published = open_published(folder)
    pair, single = XorDatabase(published.content), LweDatabase(published.content, published.hint[:SEED])
    replies = {
        "/index": json.dumps(published.cells.document()).encode(),
        "/hint": published.hint,
        "/xor": pair.answer,
        "/lwe": single.answer,
        **{f"/{name}": reply for name, reply in changed.items()},
    }
    monkeypatch.setattr("dither.lookup.client.Connection", lambda url, token: Remembered(replies))
    return Lookup(*(f"http://127.0.0.1:{number}" for number in range(1, servers + 1)))


@pytest.mark.parametrize("servers", [1, 2])
def test_replies_that_are_none_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, servers: int) -> None:
    """Wrong sizes, and a hint of another release."""
    publish(ROWS, ["n", "mean"], tmp_path)
    asked = {"region": "south", "month": 1}
    assert served(tmp_path, monkeypatch, servers).get(**asked) == {"n": -7, "mean": 1.5}
    for size in (0, 1, 4, 8, 17, 10**4):
        with pytest.raises(ParameterError, match="wrong length"):
            served(tmp_path, monkeypatch, servers, xor=bytes(size), lwe=bytes(size)).get(**asked)
    if servers == 1:
        other = publish({**ROWS, "n": [1, 2, 3]}, ["n", "mean"], tmp_path / "other")
        wrong = (tmp_path / "other" / "hint.bin").read_bytes()
        assert other.hint != open_published(tmp_path).cells.hint
        with pytest.raises(ParameterError, match="not that of the release"):
            served(tmp_path, monkeypatch, servers, hint=wrong).get(**asked)


def test_planted_a_hint_that_nobody_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells would be read wrong without a word."""
    taken = property(lambda self: LweClient.of(Upright(4, 16), self._servers[0].send("GET", "/hint")))
    monkeypatch.setattr(Lookup, "_client", taken)
    with pytest.raises(pytest.fail.Exception):
        test_replies_that_are_none_are_refused(tmp_path, monkeypatch, 1)


def test_keys_are_dates_too_and_values_are_numbers(tmp_path: Path) -> None:
    days = [date(2026, 1, 1), date(2026, 2, 1)]
    cells = publish({"month": days, "price": [Decimal("0.5"), Decimal(1)], "n": [1, 2]}, ["n"], tmp_path)
    assert cells.number(month="2026-02-01", price="1") == 3
    assert open_published(tmp_path).cells.keys["month"] == ["2026-01-01", "2026-02-01"]
    for wrong in (["a", "b"], [2**63, 1], [None, {}]):
        with pytest.raises(ParameterError, match="eight bytes"):
            publish({"month": days, "n": wrong}, ["n"], tmp_path / "wrong")
    for wrong in ([float("nan"), 1.0], [b"x", b"y"], [(), 1]):
        with pytest.raises(ParameterError, match="keys are"):
            publish({"key": wrong, "n": [1, 2]}, ["n"], tmp_path / "wrong")


def test_malformed_queries_are_refused() -> None:
    cells = database((100, 8))
    for server in (XorDatabase(cells), LweDatabase(cells, bytes(SEED))):
        with pytest.raises(ParameterError):
            server.answer(b"")
    for number in (-1, 100):
        with pytest.raises(ParameterError):
            Square(100, 8).queries(number)
