"""A proof page is about the code as it is: its pins fail when a function it relies on changes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("proof_pins", ROOT / "tools" / "proof_pins.py")
proof_pins = importlib.util.module_from_spec(spec)
spec.loader.exec_module(proof_pins)

PAGES = sorted(proof_pins.PAGES.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_pin_is_that_of_the_code(page):
    stale = proof_pins.stale(page.read_text())
    assert not stale, f"{page.name} was checked against other code; read it again, then run: python tools/proof_pins.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_function_a_page_names_in_its_steps_is_pinned(page):
    text = page.read_text()
    pinned = {pin["name"].partition(":")[2] for pin in proof_pins.PIN.finditer(text)}
    assert pinned
    steps = text.partition("## Pins")[0]
    named = {word.strip("`") for word in steps.split("[code: ")[1:] for word in word.partition("]")[0].split(", ")}
    assert named
    assert named <= pinned


def test_each_mechanism_and_composition_has_a_page():
    from dither.lab.registry import EVERY

    names = {page.stem for page in PAGES}
    assert {entry.make.__name__.lower() for entry in EVERY} | {"composition"} <= names


def test_a_changed_function_is_noticed_and_a_refresh_settles_it():
    page = "- `dither.accounting.composition.composition:_total` 0123456789abcdef\n"
    assert proof_pins.stale(page) == ["dither.accounting.composition.composition:_total"]
    assert proof_pins.stale(proof_pins.refreshed(page)) == []


def test_properties_cached_functions_and_class_methods_are_found():
    for name in (
        "dither.mechanisms.additive.laplace:Laplace.guarantee",
        "dither.accounting.guarantees.conversion:rho_of_pure",
        "dither.accounting.currency.currency:Currency.of",
    ):
        assert len(proof_pins.source_hash(name)) == 16
