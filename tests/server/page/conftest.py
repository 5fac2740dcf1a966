"""A real browser on a real server: Debian's Chromium, driven as a person would."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

expect.set_options(timeout=60_000)  # far beyond what anything takes on any machine

PICTURES = Path(__file__).parents[3] / "docs" / "pictures" / "page"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "make test installs Chromium"
    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield made
        made.close()


class Visitor:
    """Somebody in front of the page."""

    def __init__(self, page: Page, server: Any) -> None:
        self.page, self.server = page, server
        self.problems: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        """An error of the page; a browser also logs every answer of a server that refuses something."""
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.problems.append(message.text)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/"

    def sign_in(self, who: str) -> None:
        self.page.goto(self.address)
        self.enter(who)
        self.settle()

    def enter(self, who: str) -> None:
        """Give a token at the door."""
        self.page.fill("input[name=token]", self.server.tokens.get(who, who))
        self.page.click("button[type=submit]")

    def settle(self) -> None:
        """Until the view is whole: what is looked at before that may be missing, or of the view before it."""
        expect(self.page.locator("main#view")).to_have_attribute("aria-busy", "false")

    def view(self, name: str) -> Locator:
        """Go to another view."""
        current = self.page.locator("nav a[aria-current=page]")
        assert current.inner_text() != name, "that view is there already"
        self.page.click(f"nav >> text={name}")
        expect(current).to_have_text(name)
        self.settle()
        return self.page.locator("main")

    def write(self, text: str) -> None:
        """Type a question in place of what is there."""
        self.page.get_by_label("SQL question").focus()  # where a list of completions may lie over it
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(text)

    def check_accessible(self) -> None:
        """No rule of axe is broken by what is shown now."""
        found = Axe().run(self.page).response["violations"]
        assert not found, [(one["id"], [node["target"] for node in one["nodes"]]) for one in found]

    def picture(self, name: str) -> None:
        """A screenshot, which `DITHER_SCREENSHOTS=1 pytest tests/server/page` puts into docs."""
        shown = self.page.screenshot(full_page=True)
        assert shown.startswith(b"\x89PNG")
        if os.environ.get("DITHER_SCREENSHOTS"):
            (PICTURES / f"{name}.png").write_bytes(shown)

    def run(self) -> None:
        """Ask, until the new answer is there: an earlier one is shown meanwhile."""
        with self.page.expect_response(re.compile("/v1/answers/")):
            self.page.click("text=Ask and pay")
        expect(self.page.locator("form.price button.primary")).to_be_enabled()
        expect(self.page.locator("section[aria-label=Answer]")).to_be_visible()


@pytest.fixture
def visitor(clinic: Any, browser: Browser, request: Any) -> Iterator[Visitor]:
    options = getattr(request, "param", {"viewport": {"width": 1360, "height": 900}})
    context = browser.new_context(**options)
    context.set_default_timeout(60_000)
    made = Visitor(context.new_page(), clinic)
    yield made
    context.close()
    assert not made.problems, "the console has errors"


@pytest.fixture
def administrator(served: Any, browser: Browser) -> Iterator[Visitor]:
    """Of a server that was started with --remote-admin."""
    context = browser.new_context()
    context.set_default_timeout(60_000)
    made = Visitor(context.new_page(), served)
    made.sign_in("administrator")
    yield made
    context.close()
    assert not made.problems, "the console has errors"
