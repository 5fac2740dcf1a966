"""The unit and the container files start what there is: every argument is one that `dither` knows."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from dither.cli.main import parser
from dither.server.serve import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def unit() -> list[tuple[str, str]]:
    lines = (DEPLOY / "dither.service").read_text(encoding="utf-8").splitlines()
    return [(name, value) for name, _, value in (line.partition("=") for line in lines) if value or name.isalpha()]


def of_unit() -> list[str]:
    (command,) = (value for name, value in unit() if name == "ExecStart")
    program, *arguments = shlex.split(command.replace("%d", "/run/credentials"))
    assert program.endswith("/bin/dither")
    return arguments


def of_dockerfile() -> list[str]:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert 'ENTRYPOINT ["dither"]' in text
    return list(json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[0]))


def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def of_compose() -> list[str]:
    return list(compose()["services"]["dither"]["command"])


def check_serves(arguments: list[str]) -> None:
    """It serves with TLS, with the anchor outside the folder."""
    chosen = parser().parse_args(arguments)
    assert arguments[0] == "serve"
    assert chosen.folder not in (None, chosen.anchor.parent)
    files = {"certificate": str(chosen.certificate), "key": str(chosen.key)}
    Settings(str(chosen.folder), host=chosen.host, admin_host=chosen.admin_host, **files).check()
    assert chosen.certificate
    assert not chosen.plaintext


@pytest.mark.parametrize("arguments", [of_unit(), of_dockerfile(), of_compose()], ids=["systemd", "image", "compose"])
def test_what_is_started_is_there(arguments: list[str]) -> None:
    check_serves(arguments)


@pytest.mark.parametrize("change", [("--certificate", "--certificat-file"), ("--key", "--plaintext"), ("serve", "run")])
def test_planted_arguments_are_caught(change: tuple[str, str]) -> None:
    from dither.errors import DitherError

    with pytest.raises((AssertionError, DitherError)):
        check_serves([change[1] if word == change[0] else word for word in of_unit()])


def test_the_unit_gives_nothing_away() -> None:
    known = dict(unit())
    assert (known["User"], known["LimitCORE"], known["UMask"], known["StateDirectoryMode"]) == (
        "dither",
        "0",
        "0077",
        "0700",
    )
    for name in ("NoNewPrivileges", "PrivateTmp", "ProtectHome", "RestrictNamespaces", "ProtectKernelLogs"):
        assert known[name] == "yes"
    assert (known["ProtectSystem"], known["CapabilityBoundingSet"], known["Restart"]) == ("strict", "", "always")


def test_files_that_nobody_could_run_say_so() -> None:
    for name in ("Dockerfile", "compose.yaml"):
        assert (DEPLOY / name).read_text(encoding="utf-8").startswith("# UNTESTED")


def test_paths_that_the_files_name_exist() -> None:
    for path in re.findall(r"/source/(\S+\.txt)", (DEPLOY / "Dockerfile").read_text(encoding="utf-8")):
        assert (ROOT / path).is_file()
    build = compose()["services"]["dither"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
