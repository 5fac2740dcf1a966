"""Policy files that would hang a reader, end it with a traceback, or say another number than is written."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from dither.curator.policy_files import document, reading, toml_text, yaml_text
from dither.curator.policy_files.document import MOST_BYTES, read_document
from dither.curator.policy_files.reading import read_policy
from dither.curator.policy_files.toml_text import read_toml
from dither.curator.policy_files.yaml_text import read_yaml
from dither.errors import PolicyError

MANY = 100_000
ALIASES = "a: &a [x]\n" + "".join(
    f"{chr(98 + level)}: &{chr(98 + level)} [{', '.join([f'*{chr(97 + level)}'] * 9)}]\n" for level in range(12)
)
BOMBS = {
    "toml digits": ("toml", "a = " + "9" * 5000, "200"),
    "toml digits in a list": ("toml", "a = [1, " + "9" * 5000 + "]", "200"),
    "toml hexadecimal": ("toml", "a = 0x" + "f" * 5000, "200"),
    "toml decimals": ("toml", "a = 0." + "9" * 5000, "200"),
    "toml exponent": ("toml", "[people.a]\npure = true\nepsilon = 1e999999999", "magnitude"),
    "toml lists": ("toml", "a = " + "[" * MANY, "20 levels"),
    "toml tables": ("toml", "a = " + "{a = " * (MANY // 5), "20 levels"),
    "toml dotted": ("toml", "a" + ".a" * MANY + " = 1", "20 levels"),
    "toml spaced dots": ("toml", "a" + " . a" * (MANY // 2) + " = 1", "20 levels"),
    "toml quoted dots": ("toml", '"a"' + '."a"' * (MANY // 2) + " = 1", "20 levels"),
    "toml header": ("toml", "[a" + ".a" * MANY + "]", "20 levels"),
    "toml name": ("toml", "a" * MANY + " = 1", "200"),
    "toml quoted name": ("toml", '"' + "a" * MANY + '" = 1', "unknown name"),
    "toml open string": ("toml", 'a = "' + "\\" * MANY, "not TOML"),
    "toml open long string": ("toml", 'a = """' + '\\"' * MANY, "not TOML"),
    "toml quotes": ("toml", "'\n" * MANY, "not TOML"),
    "toml twice": ("toml", "a = 1\na = 2", "not TOML"),
    "toml bytes": ("toml", "# " + "x" * MOST_BYTES, "bytes"),
    "toml NUL": ("toml", "\x00", "not TOML"),
    "yaml digits": ("yaml", "a: " + "9" * 5000, "200"),
    "yaml decimals": ("yaml", "a: 0." + "9" * 5000, "200"),
    "yaml exponent": ("yaml", "people: {a: {pure: true, epsilon: 1e999999999}}", "magnitude"),
    "yaml lists": ("yaml", "a: " + "[" * MANY, "20 levels"),
    "yaml tables": ("yaml", "a: " + "{a: " * (MANY // 4), "20 levels"),
    "yaml dashes": ("yaml", "a:\n " + "- " * MANY, "20 levels"),
    "yaml questions": ("yaml", "? " * MANY, "names are text"),
    "yaml indents": ("yaml", "\n".join(" " * level + "a:" for level in range(500)), "20 levels"),
    "yaml aliases": ("yaml", ALIASES, "aliases"),
    "yaml itself": ("yaml", "a: &a [*a]", "aliases"),
    "yaml merge": ("yaml", "a: &a {b: 1}\nc:\n  <<: *a\n", "aliases"),
    "yaml tag": ("yaml", "a: !!python/object/apply:os.system [x]", "tag"),
    "yaml tagged text": ("yaml", "a: !!str 1", "tag"),
    "yaml long tag": ("yaml", "a: !<" + "x" * MANY + "> 1", "tag"),
    "yaml twice": ("yaml", "a: 1\nb: 2\na: 3", "'a' comes twice"),
    "yaml twice in quotes": ("yaml", "a: 1\n'a': 2", "'a' comes twice"),
    "yaml documents": ("yaml", "a: 1\n---\nb: 2", "several documents"),
    "yaml bytes": ("yaml", "a: " + "x" * MOST_BYTES, "bytes"),
    "yaml list as a name": ("yaml", "? [a]\n: 1", "names are text"),
    "yaml octal": ("yaml", "a: 010", "not the same number"),
    "yaml hexadecimal": ("yaml", "a: 0x1F", "not the same number"),
    "yaml binary": ("yaml", "a: 0b11", "not the same number"),
    "yaml underscores": ("yaml", "a: 1_000", "not the same number"),
    "yaml leading zero": ("yaml", "a: -00.5", "not the same number"),
    "yaml control": ("yaml", "a: \x07", "not YAML"),
    "yaml open": ("yaml", "a: '" + "''" * MANY, "not YAML"),
}


def check_refused(path: Path, words: str) -> None:
    """A clear error of a bounded length, and nothing else."""
    with pytest.raises(PolicyError) as refused:
        read_policy(path)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused(name: str, tmp_path: Path) -> None:
    suffix, text, words = BOMBS[name]
    (tmp_path / f"policy.{suffix}").write_text(text, encoding="utf-8")
    check_refused(tmp_path / f"policy.{suffix}", words)


def test_a_file_without_end_is_read_no_further_than_allowed(tmp_path: Path) -> None:
    endless = tmp_path / "policy.toml"
    endless.symlink_to("/dev/zero")
    check_refused(endless, "bytes")


AS_WRITTEN: dict[str, Any] = {
    "0.1": Decimal("0.1"),
    "0.10": Decimal("0.10"),
    "1e-6": Decimal("1e-6"),
    "-.5": Decimal("-0.5"),
    "1.": Decimal(1),
    "10": 10,
    "-7": -7,
    "+3": 3,
    "0": 0,
    "1:30": "1:30",
    "12:30:45": "12:30:45",
    "yes": "yes",
    "no": "no",
    "on": "on",
    "True": "True",
    "true": True,
    "false": False,
    "null": None,
    "~": None,
    "": None,
    ".inf": ".inf",
    ".nan": ".nan",
    "2024-01-01": "2024-01-01",
    "2024-01-01 10:00:00": "2024-01-01 10:00:00",
    "1.2.3": "1.2.3",
    "1/3": "1/3",
    "-": "-",
    '"010"': "010",
    "'1'": "1",
    '"true"': "true",
    "0abc": "0abc",
    "=": "=",
    "<<": "<<",
}


def check_numbers(read: Callable[[str], Any]) -> None:
    for written, meant in AS_WRITTEN.items():
        if written == "-":
            continue  # alone it begins a list
        found = read(f"a: {written}")["a"]
        assert (found, type(found)) == (meant, type(meant)), f"{written} is read as {found!r}"


def test_yaml_is_read_as_written() -> None:
    check_numbers(read_yaml)


def test_lists_blocks_and_names() -> None:
    text = "a:\n- 1\n- x: |\n    two\n    lines\n  y: []\nb: {c: {}}\n'1': z\n"
    assert read_yaml(text) == {"a": [1, {"x": "two\nlines\n", "y": []}], "b": {"c": {}}, "1": "z"}
    assert read_yaml("") is None
    assert read_yaml("# nothing") is None


def test_times_are_refused_where_a_number_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    for written in ("1:30", "yes", ".inf", ".nan", "2024-01-01"):
        path.write_text(f"people:\n  buyers: {{epsilon: {written}, pure: true}}\n", encoding="utf-8")
        check_refused(path, "epsilon must be a finite number")
    path.write_text("people:\n  buyers: {epsilon: 1, pure: yes}\n", encoding="utf-8")
    check_refused(path, "is true or false")


@pytest.mark.parametrize("suffix", ["toml", "yaml"])
def test_columns_that_differ_in_case_alone(suffix: str, tmp_path: Path) -> None:
    texts = {
        "toml": '[public.t]\nsource = "t.csv"\nkey = "A"\ncolumns.A = {kind = "bool"}\ncolumns.a = {kind = "bool"}\n',
        "yaml": "public:\n  t:\n    source: t.csv\n    key: A\n    columns: {A: {kind: bool}, a: {kind: bool}}\n",
    }
    path = tmp_path / f"policy.{suffix}"
    path.write_text(texts[suffix], encoding="utf-8")
    check_refused(path, "declared twice")


@pytest.mark.parametrize(
    "text",
    [
        'a = """x""""\nb = [[1]]\n',
        "a = '''it's'''\nb = 'c:\\'\n",
        'a = "# no comment ["  # a comment [[[\n',
        'a = "\\"["\nb = ["]", "}"]\n',
        'a.b."c.d" = 1.5\n',
        'a = """\n[[[[\n"""\nb = 2024-01-01T10:00:00.5\n',
    ],
)
def test_ordinary_toml_is_measured_right(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toml_text, "MOST_LEVELS", 2)
    assert read_toml(text)


def test_every_step_of_the_measure_goes_forward() -> None:
    """The measure looks at each character a bounded number of times: as many steps as characters, at most."""
    for unit in ('"', "'", '"""', "'''", "\\", '\\"', "#", "[", "]", ".", "a", "\n", '"\n', "'a\n", '""" '):
        text = unit * 2000
        places = []
        place = 0
        while place < len(text):
            after = toml_text._after_string(text, place, text[place]) if text[place] in "\"'" else place + 1
            assert after > place
            places.append(after)
            place = after
        assert len(places) <= len(text)


def test_planted_numbers_as_yaml_reads_them() -> None:
    with pytest.raises(AssertionError, match="is read as"):
        check_numbers(yaml.safe_load)
    for written, meant in {"1:30": 90, "010": 8, "no": False}.items():
        assert yaml.safe_load(written) == meant, "what was read before"


@pytest.mark.parametrize(
    ("module", "limit", "name"),
    [
        (toml_text, "MOST_LEVELS", "toml dotted"),
        (toml_text, "LONGEST_WORD", "toml digits"),
        (yaml_text, "MOST_LEVELS", "yaml dashes"),
        (yaml_text, "LONGEST_WORD", "yaml digits"),
        (document, "MOST_BYTES", "yaml bytes"),
    ],
)
def test_planted_files_without_limits(
    module: Any, limit: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix, text, words = BOMBS[name]
    path = tmp_path / f"policy.{suffix}"
    path.write_text(text[:10_000] if "bytes" not in name else text, encoding="utf-8")
    monkeypatch.setattr(module, limit, 10**9)
    with pytest.raises((AssertionError, RecursionError, ValueError)) as caught:
        check_refused(path, words)
    assert not isinstance(caught.value, PolicyError)


def test_a_bom_and_other_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b"\xef\xbb\xbf[people.a]\r\nepsilon = 1\r\npure = true\r\n")
    assert read_document(path) == {"people": {"a": {"epsilon": 1, "pure": True}}}
    assert reading.read_policy(path).accounts[0].people == "a"
