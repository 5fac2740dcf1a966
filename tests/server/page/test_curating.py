"""What curators and auditors do with the page, in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from dither.policy import names

NURSES = """{"tables": {"shifts": {"people": "patients", "owner": "nurse", "max_rows_per_owner": 2,
    "columns": {"hours": {"kind": "int", "lower": 0, "upper": 24}}}}}"""


def said(visitor: Any, words: str) -> None:
    expect(visitor.page.locator("[role=status]")).to_contain_text(words)


def test_a_curator_sees_tables_people_ledger_tokens_and_limits(visitor: Any) -> None:
    visitor.sign_in("curator")
    for name, words in {
        "Tables": "visits",
        "People": "alice",
        "Ledger": "The ledger was begun",
        "Tokens": "auditor",
        "Limits": "max_cells",
    }.items():
        expect(visitor.view(name)).to_contain_text(words)
        visitor.check_accessible()
    visitor.view("Tables")
    visitor.page.click("summary >> text=columns")
    expect(visitor.page.get_by_label("Policy of visits")).to_contain_text('"max_rows_per_owner"')
    visitor.check_accessible()


@pytest.mark.parametrize("visitor", [{"viewport": {"width": 380, "height": 800}}], ids=["narrow"], indirect=True)
def test_a_curator_with_a_narrow_screen(visitor: Any) -> None:
    visitor.sign_in("curator")
    for name in ("Tables", "People", "Ledger", "Tokens", "Limits"):
        expect(visitor.view(name).locator("section h2").first).to_be_visible()
        for summary in visitor.page.locator("summary >> text=Register").all():
            summary.click()
        assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        visitor.check_accessible()


def test_a_curator_freezes_people_and_one_analyst(visitor: Any) -> None:
    visitor.sign_in("curator")
    visitor.view("People")
    for whom, code in {"patients": "people_frozen", "alice": "analyst_frozen"}.items():
        visitor.page.click(f"text=freeze {whom}")
        said(visitor, f"freeze {whom}: done")
        assert visitor.server.query("alice", f"SELECT COUNT(*) FROM visits WHERE age > {len(whom)}").code == code
        visitor.page.click(f"text=thaw {whom}")
        said(visitor, f"thaw {whom}: done")
    visitor.picture("curator")


def test_a_curator_loads_and_refreshes_and_reads_the_reports(visitor: Any, tmp_path: Path) -> None:
    """A file that is sent, then one below the server's data root; the report is exact, and no analyst has it."""
    (tmp_path / "shifts.csv").write_text("nurse,hours\n1,8\n1,99\n,7\n")
    (visitor.server.root / "later.csv").write_text("nurse,hours\n1,8\n2,6\n3,5\n")
    visitor.sign_in("curator")
    visitor.view("Tables")
    visitor.page.click("text=Register by a policy")
    visitor.page.get_by_label("Policy", exact=True).fill(NURSES)
    visitor.page.set_input_files("input[aria-label='Data of the policy']", tmp_path / "shifts.csv")
    visitor.page.click("button >> text=Register these")
    report = visitor.page.get_by_label("Load report")
    expect(report.locator("tr", has_text="dropped without owner")).to_contain_text("1")
    expect(report.locator("tr", has_text="clamped")).to_contain_text("hours 1")
    visitor.check_accessible()
    before = visitor.server.call("curator", "GET", "/v1/tables").json
    visitor.page.click("text=Refresh shifts")
    visitor.page.get_by_label("New data of shifts: path on the server").fill("later.csv")
    visitor.page.click("button:text-is('Refresh') >> visible=true")
    expect(report.locator("tr", has_text="owners").first).to_contain_text("3")
    after = visitor.server.call("curator", "GET", "/v1/tables").json
    assert [one["snapshot"] for one in after] != [one["snapshot"] for one in before]
    visitor.page.click("text=Refresh shifts")
    visitor.page.get_by_label("New data of shifts: path on the server").fill("../server.sqlite")
    visitor.page.click("button:text-is('Refresh') >> visible=true")
    said(visitor, "below the server's data folder")
    visitor.page.on("dialog", lambda dialog: dialog.accept())
    visitor.page.click("text=Drop shifts")
    said(visitor, "Dropping: done")


def test_a_curator_registers_a_table_by_a_form(visitor: Any, tmp_path: Path) -> None:
    """Columns are drafted from the file; what is left blank is refused, and what is filled in is loaded."""
    (tmp_path / "Stays.csv").write_text("patient;nights;Ward Name\n1;2;a\n2;9;b\n")
    visitor.sign_in("curator")
    visitor.view("Tables")
    visitor.page.click("summary >> text=Register a table")
    form = visitor.page.locator("form", has=visitor.page.get_by_label("Table name"))
    form.get_by_label("Table name").fill("stays")
    form.get_by_label("Owner column").fill("patient")
    form.get_by_label("Most rows of each owner").fill("3")
    form.get_by_label("Data", exact=True).set_input_files(tmp_path / "Stays.csv")
    visitor.check_accessible()
    form.get_by_text("Draft columns", exact=True).click()
    said(visitor, "Draft columns: done")
    columns = form.get_by_label("Columns")
    drafted = json.loads(columns.input_value())
    assert drafted == {"nights": {"kind": "FILL IN"}, "Ward_Name": {"kind": "FILL IN", "source": "Ward Name"}}
    expect(form.get_by_label("Delimiter")).to_have_value(";")
    form.get_by_role("button", name="Register").click()
    said(visitor, "policy: still to be filled in: tables.stays.columns.nights.kind")
    columns.fill("{")
    form.get_by_role("button", name="Register").click()
    said(visitor, "this is not written as JSON")
    filled = {"nights": {"kind": "int", "lower": 0, "upper": 5}, "ward": {"kind": "text", "source": "Ward Name"}}
    columns.fill(json.dumps(filled))
    form.get_by_role("button", name="Register").click()
    report = visitor.page.get_by_label("Load report")
    expect(report.locator("tr", has_text="clamped")).to_contain_text("nights 1")
    visitor.check_accessible()
    made = {one["name"]: one for one in visitor.server.call("curator", "GET", "/v1/tables").json}["stays"]
    assert (made["people"], made["owner"], made["max_rows_per_owner"]) == ("patients", "patient", 3)
    assert list(made["columns"]) == ["nights", "ward"]
    assert visitor.server.call("curator", "DELETE", "/v1/tables/stays").status == 200


def test_names_are_quoted_as_questions_need_it() -> None:
    """The page has the same list of reserved words as the library."""
    text = (Path(__file__).parents[3] / "web" / "src" / "names.js").read_text(encoding="utf-8")
    listed = text[text.index('(\n    "') : text.index(").split")]
    assert set("".join(re.findall(r'"([^"]*)"', listed)).split()) == set(names._RESERVED)


def test_a_curator_changes_a_limit(visitor: Any) -> None:
    visitor.sign_in("curator")
    visitor.view("Limits")
    visitor.page.get_by_label("max_cells", exact=True).fill("12345")
    visitor.page.click("text=Change max_cells")
    said(visitor, "Changing max_cells: done")
    assert visitor.server.call("curator", "GET", "/v1/limits").json["max_cells"] == 12345
    visitor.page.get_by_label("max_cells", exact=True).fill("many")
    visitor.page.click("text=Change max_cells")
    expect(visitor.page.locator("[role=status]")).to_have_class("bad")
    assert visitor.server.call("curator", "GET", "/v1/limits").json["max_cells"] == 12345


def test_a_curator_revokes_a_token(visitor: Any) -> None:
    visitor.sign_in("curator")
    assert visitor.server.call("monitor", "GET", "/v1/whoami").status == 403  # it is known
    visitor.view("Tokens").locator("tr", has_text="monitor").get_by_text("Revoke").click()
    said(visitor, "Revoking: done")
    assert visitor.server.call("monitor", "GET", "/v1/whoami").status == 401


def order(visitor: Any, words: str, **stated: str) -> None:
    visitor.page.click(f"summary:text-is('{words}')")
    for name, value in stated.items():
        visitor.page.get_by_label(f"{words}: {name}").fill(value)
    visitor.check_accessible()
    visitor.page.get_by_role("button", name=words, exact=True).click()
    said(visitor, f"{words}: done")


def test_an_administrator_makes_people_analysts_and_tokens(administrator: Any) -> None:
    visitor = administrator
    visitor.page.on("dialog", lambda dialog: dialog.accept())
    order(visitor, "Open people", name="guests", epsilon="2", delta="1e-7")
    order(visitor, "Make an analyst", name="bob", people="guests", epsilon="1", delta="1e-8")
    visitor.view("Tokens")
    order(visitor, "Make a token", role="analyst", name="bob", days="3")
    token = visitor.page.get_by_label("New token").input_value()
    assert visitor.server.call(token, "GET", "/v1/whoami").json == {"role": "analyst", "name": "bob"}
    visitor.view("People")
    order(visitor, "Give an account less", people="guests", analyst="bob", epsilon="0.5", delta="1e-8", reason="less")
    order(visitor, "Close an account for good", people="guests", analyst="bob", reason="gone")
    row = visitor.page.locator("tr", has_text="guests").filter(has_text="bob")
    expect(row).to_contain_text("closed")
    visitor.page.click("summary:text-is('Make an analyst')")
    for name, value in {"name": "alice", "people": "nobody", "epsilon": "1"}.items():
        visitor.page.get_by_label(f"Make an analyst: {name}").fill(value)
    visitor.page.get_by_role("button", name="Make an analyst", exact=True).click()
    said(visitor, "there is no budget for people 'nobody'")


def test_granting_from_afar_is_said_to_be_off(visitor: Any) -> None:
    visitor.sign_in("administrator")
    visitor.page.click("summary:text-is('Open people')")
    visitor.page.get_by_label("Open people: name").fill("guests")
    visitor.page.get_by_label("Open people: epsilon").fill("1")
    visitor.page.get_by_role("button", name="Open people", exact=True).click()
    said(visitor, "it was started without --remote-admin")


def test_an_auditor_verifies_and_changes_nothing(visitor: Any) -> None:
    visitor.sign_in("auditor")
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.method))
    visitor.view("Ledger")
    visitor.page.click("text=Verify the whole ledger")
    expect(visitor.page.locator(".good")).to_contain_text("entries are intact")
    visitor.check_accessible()
    for name, words in {"People": "alice", "Tokens": "curator"}.items():
        expect(visitor.view(name)).to_contain_text(words)
        expect(visitor.page.locator("main button")).to_have_count(0)
        visitor.check_accessible()
    assert visitor.page.locator("nav a").all_text_contents() == ["People", "Ledger", "Tokens"]
    assert set(asked) == {"GET"}
    visitor.view("People")
    visitor.picture("auditor")
