"""Labels of data, tables, columns and people are shown as they are, in every view: none of them is ever markup."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

MARKUP = """Element.prototype.append = function (...parts) {
    for (const one of parts)
        typeof one === "string" ? this.insertAdjacentHTML("beforeend", one) : this.appendChild(one);
}"""
ELEMENTS = "img, main script, body > script, [onload], [onerror]"
POISON = "<img src=x onerror=alert(4)>"
VIEWS = {"alice": ["History"], "curator": ["Tables", "People", "Ledger", "Tokens", "Limits"]}
HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "'\"><svg onload=alert(3)>", "=1+1"]


def hostile_labels(visitor: Any) -> tuple[int, list[str]]:
    """How many elements labels have become, and the labels that are shown as they are."""
    answer = {
        "columns": [{"name": HOSTILE[0], "role": "key"}, {"name": HOSTILE[2], "role": "value", "half_width": 2}],
        "rows": [
            {HOSTILE[0]: label, HOSTILE[2]: 7, f"{HOSTILE[2]}_lower": 5, f"{HOSTILE[2]}_upper": 9} for label in HOSTILE
        ],
        "price": {"epsilon": HOSTILE[1]},
        "notes": HOSTILE,
        "intervals": HOSTILE[0],
        "confidence": "0.95",
        "charged": True,
        "id": "a",
    }
    visitor.sign_in("alice")
    visitor.page.route(re.compile("/v1/answers/"), lambda route: route.fulfill(json=answer))
    visitor.write("SELECT COUNT(*) AS n FROM visits")
    visitor.run()
    shown = visitor.page.locator("section[aria-label=Answer]")
    return shown.locator("img, script, [onload], [onerror]").count(), shown.locator(
        "tbody td:first-child"
    ).all_text_contents()


def test_labels_are_never_markup(visitor: Any) -> None:
    assert hostile_labels(visitor) == (0, HOSTILE)


def test_planted_bug_labels_as_markup(visitor: Any) -> None:
    visitor.page.add_init_script(MARKUP)
    elements, shown = hostile_labels(visitor)
    assert elements
    assert shown != HOSTILE
    visitor.problems.clear()  # what the policy of the page has kept from running


def poisoned(value: Any) -> Any:
    """The same document, with markup in every text that it has but numbers, and in the names of columns."""
    if isinstance(value, list):
        return [poisoned(one) for one in value]
    if isinstance(value, dict):
        made = {name: one if name == "role" else poisoned(one) for name, one in value.items()}
        if isinstance(value.get("columns"), dict):
            made["columns"] = {f"{name}{POISON}": one for name, one in made["columns"].items()}
        return made
    number = not isinstance(value, str) or re.fullmatch(r"[-+.\deE/]*|[\[{].*", value)
    return value if number else value + POISON


def poison(route: Any) -> None:
    response = route.fetch()
    route.fulfill(response=response, json=poisoned(response.json()))


def walk(visitor: Any, who: str) -> tuple[int, list[str]]:
    """How many elements names have become in all views of somebody, and the views that show none of them."""
    visitor.page.route(re.compile("/v1/(tables|people|tokens|history|statement|budget|explain|limits)"), poison)
    visitor.sign_in(who)
    visitor.write("SELECT region, COUNT(*) AS n FROM visits GROUP BY region")
    expect(visitor.page.locator(".live")).to_contain_text("Would cost")
    found, without = visitor.page.locator(ELEMENTS).count(), []
    for name in VIEWS[who]:
        place = visitor.view(name)
        found += place.locator(ELEMENTS).count()
        if POISON not in place.text_content():
            without.append(name)
    return found, without


@pytest.mark.parametrize("who", VIEWS)
def test_names_are_never_markup_in_any_view(visitor: Any, who: str) -> None:
    assert visitor.server.query("alice", "SELECT COUNT(*) FROM visits WHERE age > 33").status == 200
    assert walk(visitor, who) == (0, ["Limits"] if who == "curator" else [])


@pytest.mark.parametrize("who", VIEWS)
def test_planted_bug_names_as_markup(visitor: Any, who: str) -> None:
    visitor.page.add_init_script(MARKUP)
    assert walk(visitor, who)[0] > 0
    visitor.problems.clear()  # what the policy of the page has kept from running
