"""`dither --url ... --token-file ...`: every command of an analyst says over HTTP what it says at home."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import dither as dt
from dither.cli.main import main, parser

GROUPS = "SELECT CASE WHEN age < 40 THEN 0 ELSE 1 END AS half, COUNT(*) AS n FROM visits GROUP BY 1"
PRICE = ("--epsilon", "0.01")
AS_ALICE = {"query", "explain", "budget", "ledger show"}  # at home these say who asks


def run(*arguments: str) -> tuple[int, str, str]:
    """The exit code, and what was printed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


class Both:
    """The same command at the server and at home."""

    def __init__(self, served: Any, folder: Path) -> None:
        token = folder / "token"
        token.write_text(served.tokens["alice"] + "\n")
        self.server = ("--url", f"http://127.0.0.1:{served.port}", "--token-file", str(token))
        self.folder, self.tokens = str(served.folder), served.tokens

    def remote(self, *arguments: str, who: str = "alice") -> tuple[int, str, str]:
        token = Path(self.server[3]).with_name(who)
        token.write_text(self.tokens[who])
        return run(*self.server[:3], str(token), *arguments)

    def home(self, command: str, *arguments: str) -> tuple[int, str, str]:
        who = ("--analyst", "alice") if command in AS_ALICE else ()
        show = ("--show",) if command == "profile" else ()
        return run(*command.split(), self.folder, *arguments, *who, *show)


@pytest.fixture(scope="module")
def both(served: Any, tmp_path_factory: pytest.TempPathFactory) -> Both:
    with dt.Curator.open(served.folder) as curator:
        curator.profile("visits", share="0.02")
        curator.analyst("alice").sql(GROUPS, epsilon="0.01")  # so that both print a repeat
    return Both(served, tmp_path_factory.mktemp("alice"))


SAME = [
    ("tables",),
    ("profile", "visits"),
    ("explain", GROUPS, *PRICE),
    ("query", GROUPS, *PRICE),
    ("budget",),
    ("budget", "--people", "patients"),
    ("ledger show",),
]
OF_CURATORS = [("snapshots", "curator", "administrator"), ("ledger verify", "curator", "auditor", "administrator")]
ERRORS = [
    (2, "explain", "SELECT * FROM visits", *PRICE),
    (2, "query", "SELECT COUNT(*) FROM nosuch", *PRICE),
    (2, "query", "SELECT COUNT(*) FROM visits"),
    (2, "query", "SELECT COUNT(*) FROM visits", "--epsilon", "nan"),
    (2, "query", "SELECT COUNT(*) FROM visits", *PRICE, "--rows-per-owner", "0"),
    (2, "query", "SELECT COUNT(*) FROM visits", *PRICE, "--delta", "1e-9"),
    (3, "query", "SELECT COUNT(*) FROM visits", "--epsilon", "100"),
    (2, "profile", "nosuch"),
    (2, "budget", "--people", "nosuch"),
]


@pytest.mark.parametrize("command", SAME, ids=" ".join)
def test_the_same_is_said_as_at_home(both: Both, command: tuple[str, ...]) -> None:
    name, *arguments = command
    assert both.remote(*name.split(), *arguments) == both.home(name, *arguments)
    code, there, _ = both.remote(*name.split(), *arguments, "--json")
    assert code == 0
    assert json.loads(there) == json.loads(both.home(name, *arguments, "--json")[1])


def test_csv_is_the_same(both: Both) -> None:
    assert both.remote("query", GROUPS, *PRICE, "--csv") == both.home("query", GROUPS, *PRICE, "--csv")


@pytest.mark.parametrize("refused", ERRORS, ids=lambda refused: " ".join(refused[1:]))
def test_errors_are_the_same(both: Both, refused: tuple[Any, ...]) -> None:
    code, name, *arguments = refused
    there = both.remote(name, *arguments)
    assert there == both.home(name, *arguments)
    assert (there[0], there[1]) == (code, "")
    assert there[2].startswith("dither: ")
    *_, document = both.remote(name, *arguments, "--json")
    assert json.loads(document) == json.loads(both.home(name, *arguments, "--json")[2])


def names(*, remote: bool = False) -> set[str]:
    """Every command that can be run, by its full name."""

    def below(top: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
        chosen = [
            item for action in top._actions if isinstance(action.choices, dict) for item in action.choices.items()
        ]
        for name, child in chosen:
            yield from below(child, (*path, name))
        if path and not chosen:
            yield " ".join(path)

    return set(below(parser(remote=remote)))


LOCAL = sorted(names() - names(remote=True))


def test_every_command_of_a_server_is_compared() -> None:
    """One that is new asks a server and is compared here, or is among those that are refused."""
    assert names(remote=True) == {name for name, *_ in SAME} | {name for name, *_ in OF_CURATORS}
    assert names(remote=True) < names()


@pytest.mark.parametrize("name", LOCAL)
def test_all_others_say_that_they_ask_no_server(both: Both, name: str) -> None:
    """Whatever else they are given, and before anything of it is looked at."""
    for arguments in ((), ("clinic", "--json"), ("clinic", "patients", "--epsilon", "1")):
        code, out, err = both.remote(*name.split(), *arguments)
        assert (code, out) == (2, "")
        assert "Traceback" not in err
        if name.split()[0] in {known.split()[0] for known in names(remote=True)}:
            assert "invalid choice" in err
        else:
            assert f"dither {name.split()[0]} works on a folder or on this machine, and asks no server" in err


@pytest.mark.parametrize(("name", "who"), [(name, who) for name, *roles in OF_CURATORS for who in roles])
def test_what_curators_and_auditors_see_is_the_same_as_at_home(both: Both, name: str, who: str) -> None:
    there, home = both.remote(*name.split(), who=who), both.home(name)
    assert (there[0], there[1].replace(both.server[1], both.folder)) == home[:2]
    code, document, _ = both.remote(*name.split(), "--json", who=who)
    assert (code, json.loads(document)) == (0, json.loads(both.home(name, "--json")[1]))
    assert both.remote(*name.split())[0] == 2, "an analyst may not"


def test_the_server_may_be_named_after_the_command(both: Both) -> None:
    url, token = both.server[1], both.server[3]
    assert run("tables", f"--url={url}", "--token-file", token) == both.remote("tables")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--url", "http://127.0.0.1:1", "tables"), "--token-file"),
        (("--url", "http://dither.example", "--token-file", "TOKEN", "tables"), "https"),
        (("--url", "x", "--token-file", "TOKEN", "tables"), "address of a server"),
        (("--url", "http://127.0.0.1:1", "--token-file", "TOKEN", "register"), "asks no server"),
        (("--url", "http://127.0.0.1:1", "--token-file", "TOKEN", "regster"), "invalid choice"),
        (("--url", "http://127.0.0.1:1", "--token-file", "LARGE", "tables"), "holds no token"),
    ],
)
def test_what_is_wrong_with_the_options_is_said_in_a_line(both: Both, arguments: tuple[str, ...], said: str) -> None:
    large = Path(both.server[3]).with_name("large")
    large.write_bytes(b"x" * 10_000)
    named = {"TOKEN": both.server[3], "LARGE": str(large)}
    code, out, err = run(*(named.get(word, word) for word in arguments))
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_token_that_is_none(both: Both, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("dither_0000000000000000_" + "A" * 43)
    code, out, err = run(*both.server[:3], str(token), "tables")
    assert (code, out, err) == (2, "", "dither: a valid token is needed.\n")
    code, _, err = run(*both.server[:3], str(tmp_path / "nosuch"), "tables")
    assert (code, err.endswith("No such file or directory.\n")) == (1, True)


def test_a_port_that_is_taken_is_refused(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers at one port would share its requests, and each know other tokens."""
    monkeypatch.setattr("dither.server.listening._PATIENCE", 0)
    port = both.server[1].rsplit(":", 1)[1]
    code, out, err = run("serve", both.folder, "--port", port)
    assert (code, out) == (2, "")
    assert f"port {port}" in err
    code, _, err = run("serve", both.folder, "--port", "0", "--admin-port", port)
    assert (code, f"port {port}" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--host", "dither.example"), "--host is an address"),
        (("--admin-host", "x"), "--admin-host is an address"),
        (("--host", "0.0.0.0"), "must not go in the clear"),
        (("--admin-host", "0.0.0.0"), "must not go in the clear"),
        (("--certificate", "nosuch.pem"), "two files"),
        (
            ("--certificate", "nosuch.pem", "--key", "nosuch.key"),
            "nosuch.pem and --key nosuch.key cannot be used: No such",
        ),
        (("--certificate", "TOKEN", "--key", "TOKEN"), "cannot be used"),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_line(both: Both, options: tuple[str, ...], said: str) -> None:
    stated = [both.server[3] if word == "TOKEN" else word for word in options]
    code, out, err = run("serve", both.folder, "--port", "0", *stated)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert said in err
