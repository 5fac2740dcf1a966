"""The panel of a question: writing it, choosing among its prices, taking it back, taking it along."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

import dither as dt


def test_the_catalog_completes_what_is_typed(visitor: Any) -> None:
    visitor.sign_in("alice")
    editor, offered = visitor.page.get_by_label("SQL question"), visitor.page.locator(".cm-tooltip-autocomplete li")
    editor.click()
    visitor.page.keyboard.type("SELECT COUNT(*) FROM visi")
    offered.get_by_text("visits", exact=True).click()
    expect(editor).to_have_text("SELECT COUNT(*) FROM visits")
    visitor.page.keyboard.type(" WHERE depar")
    offered.get_by_text("department", exact=True).click()
    expect(editor).to_have_text("SELECT COUNT(*) FROM visits WHERE department")


def test_words_of_sql_stand_out(visitor: Any) -> None:
    visitor.sign_in("alice")
    visitor.write("SELECT COUNT(*) AS n FROM visits WHERE region = 'north'")
    line = visitor.page.locator(".cm-line")
    expect(line.get_by_text("SELECT", exact=True)).to_have_css("font-weight", "600")
    plain = line.evaluate("element => getComputedStyle(element).color")
    expect(line.get_by_text("'north'", exact=True)).not_to_have_css("color", plain)


def test_a_row_of_the_menu_is_chosen(visitor: Any) -> None:
    visitor.sign_in("alice")
    visitor.write("SELECT region, COUNT(*) AS visits FROM visits GROUP BY region")
    live = visitor.page.locator(".live")
    live.get_by_text("Rows that count of each person").click()
    row = live.locator("tbody tr", has=visitor.page.get_by_role("button")).first
    rows = row.locator("td").first.inner_text()
    with visitor.page.expect_request(re.compile("/v1/explain$")) as priced:
        row.get_by_role("button").click()
    assert priced.value.post_data_json["rows_per_owner"] == int(rows)
    expect(visitor.page.get_by_label("Rows of each person that count")).to_have_value(rows)
    expect(live).to_contain_text("Would cost")


def test_what_was_not_heard_is_taken_back(visitor: Any) -> None:
    visitor.sign_in("alice")
    before = visitor.server.spent("alice")
    visitor.page.route(re.compile("/v1/jobs"), lambda route: route.abort())
    visitor.write("SELECT COUNT(*) AS n FROM visits WHERE age > 61")
    visitor.page.click("text=Ask and pay")
    state = visitor.page.locator("form.price [role=status]")
    expect(state).to_contain_text("the connection is lost; trying again")
    visitor.page.get_by_role("button", name="Cancel").click()
    expect(visitor.page.get_by_label("Refusal")).to_contain_text("the server cannot be reached")
    expect(visitor.page.get_by_role("button", name="Cancel")).to_be_hidden()
    visitor.page.unroute_all(behavior="ignoreErrors")
    visitor.page.reload()
    visitor.settle()
    assert visitor.server.spent("alice") == before


def test_a_question_is_taken_back_while_it_waits(visitor: Any) -> None:
    """Cancel comes before its turn, and nothing is charged; or too late, and the answer is there and paid for."""
    visitor.sign_in("alice")
    before = visitor.server.spent("alice")

    def wait(route: Any) -> None:
        visitor.page.get_by_role("button", name="Cancel").click()
        route.continue_()

    visitor.write("SELECT COUNT(*) AS n FROM visits WHERE age > 62")
    visitor.page.route(re.compile("/v1/jobs$"), wait)
    with visitor.page.expect_request(lambda request: request.method == "DELETE"):
        visitor.page.click("text=Ask and pay")
    shown = visitor.page.get_by_label("Refusal").or_(visitor.page.get_by_label("Answer", exact=True))
    expect(shown).to_contain_text(re.compile("Taken back: nothing was charged|Paid:"))
    assert (visitor.server.spent("alice") == before) is ("Taken back" in shown.inner_text())


def test_a_notebook_gets_the_same_answer(visitor: Any) -> None:
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.sign_in("alice")
    visitor.write('SELECT region, COUNT(*) AS "how many"\nFROM visits WHERE age > 63\nGROUP BY region')
    visitor.page.get_by_label("Rows of each person that count").fill("3")
    visitor.run()
    visitor.page.click("text=Copy for a notebook")
    expect(visitor.page.get_by_role("button", name="Copied")).to_be_visible()
    names: dict[str, Any] = {"token": visitor.server.tokens["alice"], "dt": dt}
    exec(visitor.page.evaluate("navigator.clipboard.readText()"), names)
    assert not names["answer"].charged


ROOT = Path(__file__).parents[3]
LISTS = re.findall(
    r'^(?:export const \w+ =\s*)"([a-z_ ]+)";$', (ROOT / "web/src/vocabulary.js").read_text(), re.MULTILINE
)


def answered() -> set[str]:
    """The words of all questions that tests hold to be answered."""
    page = re.findall(r"^```sql\n(.*?)^```$", (ROOT / "docs/ask/sql.md").read_text(), re.MULTILINE | re.DOTALL)
    texts = [*page, (ROOT / "tests/sql/fixtures/accepted.sql").read_text()]
    return set(re.findall(r"[a-z_]+", " ".join(texts).lower()))


def test_every_word_that_is_completed_can_be_asked() -> None:
    words = [word for one in LISTS for word in one.split()]
    assert len(LISTS) == 3
    assert len(words) > 80
    assert not set(words) - answered(), "no question has them"


def test_nothing_else_is_completed_and_it_covers_no_button(visitor: Any) -> None:
    visitor.sign_in("alice")
    editor, offered = visitor.page.get_by_label("SQL question"), visitor.page.locator(".cm-tooltip-autocomplete")
    for lines in (1, 3, 8):
        visitor.write("SELECT COUNT(*) AS n\n" * lines + "FROM visits ")
        editor.press_sequentially("de")
        expect(offered.locator("li", has_text="DESC")).to_be_visible()
        words = {word.split()[0].lower() for word in offered.locator("li .cm-completionLabel").all_text_contents()}
        assert not words & {"delete", "declare", "default", "deallocate"}
        box, button = offered.bounding_box(), visitor.page.locator("text=Ask and pay").bounding_box()
        assert box["y"] + box["height"] <= button["y"] or box["y"] >= button["y"] + button["height"]
        visitor.page.keyboard.press("Escape")


def test_an_answer_names_its_question_and_the_history_its_unit(visitor: Any) -> None:
    visitor.sign_in("alice")
    text = "SELECT COUNT(*) AS n FROM visits WHERE age > 37"
    visitor.write(text)
    visitor.run()
    visitor.write("SELECT COUNT(*) AS n FROM visits WHERE age > 38")
    expect(visitor.page.get_by_label("The question of this answer")).to_have_text(text)
    visitor.check_accessible()
    visitor.view("History")
    entry = visitor.page.locator(".timeline li", has_text=text).first
    expect(entry).to_have_text(re.compile(r"A question was paid for\. \(rho [0-9.e-]+\)"))
