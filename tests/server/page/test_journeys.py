"""What analysts, curators and auditors do with the page, in a real browser."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from dither.curator.principal import Principal
from dither.server.store import Store
from dither.server.tokens import Tokens

QUESTION = "SELECT region, COUNT(*) AS visits FROM visits GROUP BY region"
NARROW = {"viewport": {"width": 380, "height": 800}}
DARK = {"viewport": {"width": 1360, "height": 900}, "color_scheme": "dark"}


def spent(visitor: Any) -> str:
    return visitor.server.spent("alice")


def test_the_first_load_is_small_and_all_from_here(visitor: Any) -> None:
    loaded: list[Any] = []
    visitor.page.on("requestfinished", lambda request: loaded.append(request))
    visitor.sign_in("alice")
    sizes = [one.sizes() for one in loaded]
    assert {"/", "/assets/page.js", "/assets/page.css"} <= {urlsplit(one.url).path for one in loaded}
    assert all(one.url.startswith(visitor.address) for one in loaded)
    assert sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes) < 300_000


def test_a_question_is_priced_while_typing_paid_and_shown(visitor: Any) -> None:
    visitor.sign_in("alice")
    before = spent(visitor)
    visitor.write("SELECT region, COUNT(*) AS visits, AVG(age) AS age\nFROM visits\nWHERE wait < 60\nGROUP BY region")
    visitor.page.fill("input[aria-label=Price]", "0.3")
    expect(visitor.page.locator(".live")).to_contain_text("Would cost epsilon 0.3")
    expect(visitor.page.locator(".live")).to_contain_text("visits: ±")
    assert spent(visitor) == before  # the price was free
    visitor.page.fill("section[aria-label=Budget] input", "100000")
    expect(visitor.page.locator("section[aria-label=Budget]")).to_contain_text("Not enough is left")
    visitor.page.fill("section[aria-label=Budget] input", "10")
    expect(visitor.page.locator("section[aria-label=Budget]")).to_contain_text("in all")
    visitor.check_accessible()
    visitor.run()
    assert spent(visitor) != before
    answer = visitor.page.locator("section[aria-label=Answer]")
    expect(answer.locator("tbody tr")).to_have_count(4)
    expect(answer.locator("svg.chart rect.bar")).to_have_count(4)
    expect(answer.locator("svg.chart line.whole")).to_have_count(4)
    assert answer.locator("tbody .grey").all_text_contents() != [""] * 4
    visitor.check_accessible()
    paid = spent(visitor)
    visitor.run()
    expect(answer).to_contain_text("read again for free")
    assert spent(visitor) == paid
    visitor.picture("ask")


def test_the_history_reads_again_for_free(visitor: Any) -> None:
    """At the price and the limit at which it was asked, whatever the fields say now; or as it was released."""
    visitor.sign_in("alice")
    text = "SELECT COUNT(*) AS n FROM visits WHERE age > 51"
    visitor.write(text)
    visitor.page.fill("input[aria-label=Price]", "0.03")
    visitor.page.get_by_label("Rows of each person that count").fill("7")
    visitor.run()
    paid = spent(visitor)
    visitor.page.fill("input[aria-label=Price]", "0.5")
    visitor.view("History")
    entry = visitor.page.locator(".timeline li", has_text=text).first
    entry.get_by_text("Read the answer").click()
    expect(entry.get_by_label("Answer")).to_contain_text("price: epsilon 0.03")
    visitor.check_accessible()
    entry.get_by_text("Open in the editor").click()
    expect(visitor.page.locator("input[aria-label=Price]")).to_have_value("0.03")
    expect(visitor.page.get_by_label("Rows of each person that count")).to_have_value("7")
    visitor.page.click("text=Ask and pay")
    expect(visitor.page.locator("section[aria-label=Answer]")).to_contain_text("read again for free")
    assert spent(visitor) == paid


def test_answers_are_taken_along(visitor: Any) -> None:
    visitor.sign_in("alice")
    visitor.write(QUESTION)
    visitor.run()
    for form, start in {"CSV": b"#", "Parquet": b"PAR1", "JSON": b"{"}.items():
        with visitor.page.expect_download() as found:
            visitor.page.click(f"section[aria-label=Answer] >> text={form}")
        assert found.value.path().read_bytes().startswith(start)


def test_a_typo_is_marked_where_it_is(visitor: Any) -> None:
    visitor.sign_in("alice")
    visitor.write("SELECT regio, COUNT(*)\nFROM visits GROUP BY region")
    expect(visitor.page.locator(".live .bad")).to_contain_text("Line 1, column 8: there is no column 'regio'")
    marked = visitor.page.locator(".editor").locator(".cm-lintRange-error")
    expect(marked).to_have_text("regio")
    visitor.write("SELECT COUNT(*) AS visit\nFROM visit")
    expect(visitor.page.locator(".live .bad")).to_contain_text("Line 2, column 6: there is no table 'visit'")
    expect(marked).to_have_text("visit")


def test_the_owner_is_named_and_put_into_a_question(visitor: Any) -> None:
    visitor.sign_in("alice")
    shown = visitor.page.locator("aside.tables")
    expect(shown).to_contain_text("owned by patient_id, which is counted and never shown, at most 40 rows of each")
    visitor.write("SELECT COUNT(DISTINCT ) AS n FROM visits")
    for _ in range(len(") AS n FROM visits")):
        visitor.page.keyboard.press("ArrowLeft")
    shown.get_by_text("patient_id").click()
    expect(visitor.page.get_by_label("SQL question")).to_have_text("SELECT COUNT(DISTINCT patient_id) AS n FROM visits")
    expect(visitor.page.locator(".live")).to_contain_text("Would cost")


@pytest.mark.parametrize(
    ("kind", "amount", "text", "hint"),
    [
        ("epsilon", "50", QUESTION, None),
        ("error", "1", "SELECT region, AVG(wait) AS wait FROM visits GROUP BY region", "Pay in epsilon or rho"),
        ("error", "1", "SELECT MEDIAN(age) AS age FROM visits", "Pay in epsilon or rho"),
        ("epsilon", "much", QUESTION, "Write a number, such as 0.1"),
    ],
)
def test_refusals_are_in_the_words_of_the_page(visitor: Any, kind: str, amount: str, text: str, hint: str) -> None:
    visitor.sign_in("alice")
    visitor.write(text)
    visitor.page.select_option("select[aria-label='Pay in']", kind)
    visitor.page.fill("input[aria-label=Price]", amount)
    visitor.page.click("text=Ask and pay")
    refusal = visitor.page.locator("section[aria-label=Refusal]")
    expect(refusal).to_contain_text(hint or "Pay less, or allow a larger error.")
    shown = refusal.inner_text()
    assert not re.search(r"\w=|\w\(\)|Fraction|;$", shown, re.MULTILINE), shown
    assert hint or shown.startswith("the price of epsilon 50 does not fit into what is left")


def test_decimals_have_bars_and_grey_digits(visitor: Any) -> None:
    visitor.sign_in("alice")
    visitor.write("SELECT region, SUM(fee) AS fees FROM visits GROUP BY region")
    visitor.run()
    answer = visitor.page.locator("section[aria-label=Answer]")
    expect(answer.locator("svg.chart rect.bar")).to_have_count(4)
    expect(answer.locator("svg.chart line.noise")).to_have_count(4)
    for sure, grey in zip(
        *(answer.locator(f"tbody {one}").all_text_contents() for one in (".number", ".grey")), strict=True
    ):
        assert re.fullmatch(r"-?[\d,]+\.\d\d", sure)  # all digits are there
        assert grey.endswith(sure[-3:])


def test_a_number_that_says_nothing_is_not_shown_as_one(visitor: Any) -> None:
    """Its interval is all of the declared range; elsewhere digits that noise reaches are grey, as in the terminal."""
    visitor.sign_in("alice")
    visitor.page.fill("input[aria-label=Price]", "0.0001")
    visitor.write("SELECT region, AVG(age) AS age, COUNT(*) AS n FROM visits WHERE age >= 99 GROUP BY region")
    with visitor.page.expect_response(re.compile("/v1/answers/")) as told:
        visitor.run()
    (ages,) = (column for column in told.value.json()["columns"] if column["name"] == "age")
    blank = [row in ages.get("no_information", []) for row in range(4)]  # most of them, or all
    answer = visitor.page.locator("section[aria-label=Answer]")
    expect(answer.locator("tbody tr")).to_have_count(4)
    for row, nothing in zip(answer.locator("tbody tr").all(), blank, strict=True):
        assert row.locator("i").all_text_contents() == ["no information"] * nothing
    assert answer.locator("svg.chart .number", has_text="no information").count() == sum(blank)
    assert answer.locator("svg.chart rect.bar").count() == 4 - sum(blank)
    for row in answer.locator("tbody tr").all():  # ± 2,160,146: seven digits are noise
        number, noise = (re.sub(r"\D", "", row.locator(one).last.text_content()) for one in (".number", ".grey"))
        assert noise[-7:] == number[-7:]


def test_intervals_are_rounded_outward(visitor: Any) -> None:
    """What the page writes holds all that the answer's interval holds, at the digits of its width."""
    visitor.sign_in("alice")
    visitor.page.fill("input[aria-label=Price]", "0.5")
    visitor.write("SELECT AVG(age) AS age, AVG(wait) AS wait FROM visits")
    with visitor.page.expect_response(re.compile("/v1/answers/")) as told:
        visitor.run()
    cells = visitor.page.locator("section[aria-label=Answer] tbody td")
    expect(cells).to_have_count(4)
    (row,) = told.value.json()["rows"]
    for name, written in zip(("age", "wait"), cells.all_text_contents()[1::2], strict=True):
        low, high = re.fullmatch(r"(-?[\d.]+) to (-?[\d.]+)", written).groups()
        assert float(low) <= row[f"{name}_lower"]
        assert row[f"{name}_upper"] <= float(high)
        assert len(low.partition(".")[2]) == len(high.partition(".")[2])


def test_an_end_that_nothing_certifies_leaves_the_picture(visitor: Any) -> None:
    visitor.sign_in("alice")
    visitor.write("SELECT region, COUNT(*) AS n FROM visits GROUP BY region")
    visitor.page.get_by_label("Rows of each person that count").fill("2")
    visitor.run()
    answer = visitor.page.locator("section[aria-label=Answer]")
    expect(answer.locator("tbody tr").first).to_contain_text("to ∞")
    expect(answer.locator("svg.chart line.whole.open")).to_have_count(4)
    ends = {line.get_attribute("x2") for line in answer.locator("svg.chart line.whole").all()}
    assert len(ends) == 1, "all go to the right end of the picture"
    thick = answer.locator("svg.chart line.noise")
    assert all(float(line.get_attribute("x2")) < float(*ends) for line in thick.all())


def test_what_a_key_and_a_median_take_is_said_beforehand(visitor: Any) -> None:
    visitor.sign_in("alice")
    live = visitor.page.locator(".live")
    visitor.write("SELECT postcode, COUNT(*) AS n FROM visits GROUP BY postcode")
    expect(live).to_contain_text(re.compile(r"A group is shown if it has about [\d,]+ owners"))
    visitor.write("SELECT MEDIAN(age) AS age FROM visits")
    expect(live).to_contain_text(re.compile(r"age: [\d,]+ ranks or occurrences from the best"))


def test_too_little_budget_is_said_and_nothing_is_paid(visitor: Any) -> None:
    visitor.sign_in("alice")
    before = spent(visitor)
    visitor.write(QUESTION)
    visitor.page.fill("input[aria-label=Price]", "50")
    visitor.page.click("text=Ask and pay")
    expect(visitor.page.locator("section[aria-label=Refusal]")).to_contain_text("left")
    expect(visitor.page.locator("form.price button.primary")).to_be_enabled()
    assert spent(visitor) == before


def test_a_lost_connection_is_mended_and_charged_once(visitor: Any) -> None:
    visitor.sign_in("alice")
    visitor.write("SELECT department, COUNT(*) AS n FROM visits GROUP BY department")
    expect(visitor.page.locator(".live")).to_contain_text("Would cost")
    lost: list[str] = []

    def lose(route: Any) -> None:
        """The first three answers of the server never arrive, though it got the requests."""
        if len(lost) < 3:
            lost.append(route.request.method)
            route.fetch()
            route.abort()
        else:
            route.continue_()

    visitor.page.route(re.compile("/v1/jobs"), lose)
    before = float(spent(visitor))
    visitor.run()
    assert lost[0] == "POST"
    price = 0.000349  # of epsilon 0.1, about
    assert 0 < float(spent(visitor)) - before < 1.5 * price


def test_a_reload_takes_the_answer_up_again(visitor: Any) -> None:
    visitor.sign_in("alice")
    text = "SELECT COUNT(*) AS n FROM visits WHERE age > 40"
    visitor.write(text)
    visitor.page.route(re.compile("/v1/jobs/"), lambda route: route.abort())
    with visitor.page.expect_response(lambda response: response.url.endswith("/v1/jobs")):
        visitor.page.click("text=Ask and pay")
    visitor.page.unroute_all(behavior="ignoreErrors")
    visitor.page.reload()
    visitor.page.wait_for_selector("section[aria-label=Answer]")
    expect(visitor.page.get_by_label("SQL question")).to_have_text(text)
    before = spent(visitor)
    visitor.run()
    assert spent(visitor) == before


def test_a_token_that_is_revoked_ends_the_session(visitor: Any) -> None:
    visitor.sign_in("alice")
    token = visitor.server.tokens["alice"].split("_")[1]
    row = visitor.page.context.cookies()[0]
    assert (row["httpOnly"], row["sameSite"], row["name"]) == (True, "Strict", "dither")
    assert token not in visitor.page.evaluate("document.cookie + location.href + JSON.stringify({...localStorage})")
    visitor.page.context.clear_cookies()
    visitor.write(QUESTION)
    expect(visitor.page.locator(".door")).to_contain_text("Your session has ended")
    visitor.enter("dither_0123456789abcdef_" + "a" * 43)
    expect(visitor.page.locator(".door .bad")).to_contain_text("a valid token is needed")


def end_token(visitor: Any, token: str) -> None:
    """Its time is over now, whatever it was made for."""
    store = Store(visitor.server.folder)
    with store._transaction() as connection:
        connection.execute("UPDATE tokens SET until = 1 WHERE id = ?", (token.split("_")[1],))
    store.close()


def own_token(visitor: Any) -> str:
    store = Store(visitor.server.folder)
    made = Tokens(store).make(Principal.analyst("alice"), days=1)
    store.close()
    return made


def test_a_token_that_expires_ends_the_session(visitor: Any) -> None:
    """Typing on shows the door; the old token does not open it, and a new one does."""
    token = own_token(visitor)
    visitor.sign_in(token)
    visitor.write(QUESTION)
    expect(visitor.page.locator(".live")).to_contain_text("Would cost")
    end_token(visitor, token)
    visitor.page.fill("input[aria-label=Price]", "0.2")
    expect(visitor.page.locator(".door")).to_contain_text("Your session has ended")
    visitor.enter(token)
    expect(visitor.page.locator(".door .bad")).to_contain_text("a valid token is needed")
    visitor.page.reload()
    expect(visitor.page.locator(".door")).to_be_visible()
    visitor.sign_in("alice")


def ask_and_leave(visitor: Any) -> None:
    """Alice asks, the connection is lost, and she leaves."""
    visitor.sign_in("alice")
    visitor.page.route(re.compile("/v1/jobs"), lambda route: route.abort())
    visitor.write("SELECT COUNT(*) AS n FROM visits WHERE age > 71")
    visitor.page.click("text=Ask and pay")
    expect(visitor.page.locator("form.price [role=status]")).to_contain_text("the connection is lost")
    visitor.page.click("text=Sign out")
    visitor.page.wait_for_selector(".door")
    visitor.page.unroute_all(behavior="ignoreErrors")


def test_nobody_asks_what_another_has_asked(visitor: Any) -> None:
    ask_and_leave(visitor)
    sent: list[str] = []
    visitor.page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    visitor.enter("curator")
    visitor.settle()
    visitor.page.wait_for_timeout(1500)  # beyond the longest pause between two attempts
    assert not [url for url in sent if url.endswith("/jobs")]
    assert "Answer" not in visitor.page.locator(".middle").inner_text()


def test_planted_bug_what_is_pending_is_anybodys(visitor: Any) -> None:
    visitor.page.add_init_script("""const get = Storage.prototype.getItem;
        Storage.prototype.getItem = function (name) {
            return get.call(this, Object.keys(this).find((one) => one.startsWith("dither.pending")) ?? name);
        };""")
    ask_and_leave(visitor)
    with visitor.page.expect_request(re.compile("/v1/jobs$")):
        visitor.enter("curator")


def charged_from_another_tab(visitor: Any, text: str) -> bool:
    """Alice's tab stays open while the curator signs in beside it, and then she asks: whether anybody is charged."""
    visitor.sign_in("alice")
    visitor.write(text)
    expect(visitor.page.locator(".live")).to_contain_text("Would cost")
    beside = visitor.page.context.new_page()
    beside.goto(visitor.address)
    beside.click("text=Sign out")
    beside.fill("input[name=token]", visitor.server.tokens["curator"])
    beside.click("button[type=submit]")
    beside.wait_for_selector("nav >> text=Ledger")
    before = visitor.server.call("curator", "GET", "/v1/people").json
    visitor.page.click("text=Ask and pay")
    visitor.page.wait_for_selector(".door, section[aria-label=Answer]")
    beside.close()
    return bool(visitor.server.call("curator", "GET", "/v1/people").json != before)


def test_another_tab_asks_nothing_in_the_name_of_who_signed_in_since(visitor: Any) -> None:
    assert not charged_from_another_tab(visitor, "SELECT COUNT(*) AS n FROM visits WHERE age > 72")
    expect(visitor.page.locator(".door")).to_contain_text("Your session has ended")


def test_planted_bug_a_page_that_does_not_say_for_whom_it_asks(visitor: Any) -> None:
    visitor.page.add_init_script("""const sent = window.fetch;
        window.fetch = (path, options) => (delete options.headers["x-dither-as"], sent(path, options));""")
    assert charged_from_another_tab(visitor, "SELECT COUNT(*) AS n FROM visits WHERE age > 73")


def test_a_monitor_has_no_page(visitor: Any) -> None:
    visitor.page.goto(visitor.address)
    visitor.enter("monitor")
    expect(visitor.page.locator(".door .bad")).to_contain_text("has nothing to see here")
    assert visitor.page.context.cookies() == []


def test_a_shared_question_is_opened_and_not_asked(visitor: Any) -> None:
    visitor.sign_in("alice")
    text = "SELECT COUNT(*) AS n FROM visits WHERE age > 64"
    visitor.write(text)
    visitor.page.fill("input[aria-label=Price]", "0.25")
    visitor.page.click("button >> text=Share")
    link = visitor.page.get_by_label("Link").input_value()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#Ask/[0-9a-f]{32}", link), "no data are in it"
    visitor.check_accessible()
    visitor.page.click("text=Sign out")
    visitor.page.wait_for_selector(".door")
    before, asked = visitor.server.call("curator", "GET", "/v1/people").json, list[str]()
    visitor.page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    visitor.page.goto("about:blank")
    visitor.page.goto(link)
    visitor.enter("curator")
    expect(visitor.page.get_by_label("SQL question")).to_have_text(text)
    expect(visitor.page.locator("input[aria-label=Price]")).to_have_value("0.25")
    expect(visitor.page.locator("main")).to_contain_text("Nothing was asked or paid")
    expect(visitor.page.locator(".live")).to_contain_text("Would cost")
    assert not [one for one in asked if "/v1/query" in one or "/v1/jobs" in one]
    assert visitor.server.call("curator", "GET", "/v1/people").json == before
    visitor.page.reload()
    visitor.page.wait_for_selector(".ask")
    assert visitor.page.url.endswith("#Ask")
    visitor.page.goto(link[:-32] + "0" * 32)
    expect(visitor.page.locator("main")).to_contain_text("There is no such question")


def test_everything_by_keyboard(visitor: Any) -> None:
    visitor.page.goto(visitor.address)
    visitor.page.wait_for_selector(".door")
    visitor.page.keyboard.insert_text(visitor.server.tokens["alice"])
    visitor.page.keyboard.press("Enter")
    visitor.settle()
    for _ in range(60):
        if visitor.page.evaluate("document.activeElement.className") == "editor":
            break
        visitor.page.keyboard.press("Tab")
    visitor.page.keyboard.insert_text("SELECT COUNT(*) AS n FROM visits")
    visitor.page.keyboard.press("Control+Enter")
    visitor.page.wait_for_selector("section[aria-label=Answer]")
    visitor.page.keyboard.press("Tab")  # leaves the editor
    assert visitor.page.evaluate("document.activeElement.className") != "editor"


@pytest.mark.parametrize("visitor", [NARROW, DARK], ids=["narrow", "dark"], indirect=True)
def test_other_screens(visitor: Any) -> None:
    visitor.sign_in("alice")
    visitor.write(QUESTION)
    visitor.run()
    assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    visitor.check_accessible()
    name = "narrow" if visitor.page.viewport_size == NARROW["viewport"] else "dark"
    visitor.picture(name)


def test_the_tour(visitor: Any) -> None:
    visitor.sign_in("alice")
    visitor.page.click("text=Tour")
    dialog = visitor.page.locator("dialog")
    expect(dialog.locator("path")).to_have_count(2)
    dialog.locator("input[type=range]").fill("3")
    expect(dialog).to_contain_text("epsilon 3")
    dialog.get_by_text("Next").click()
    expect(dialog).to_contain_text("The attack by differences")
    exact, noisy = dialog.locator("tbody tr").all()
    expect(exact.locator("td").last).to_have_text("1")
    drawn = {noisy.locator("td").last.inner_text()}
    for _ in range(20):  # all the same with less than 10^-20
        dialog.get_by_text("Draw the noise anew").click()
        drawn.add(noisy.locator("td").last.inner_text())
    assert len(drawn) > 1
    visitor.check_accessible()
    dialog.get_by_text("Next").click()
    expect(dialog).to_contain_text("What an answer costs")
    visitor.check_accessible()
    dialog.get_by_text("Try it").click()
    expect(dialog).to_have_count(0)
    expect(visitor.page.get_by_label("SQL question")).to_have_text("SELECT COUNT(*) AS n FROM visits")
    expect(visitor.page.locator(".live")).to_contain_text("Would cost")


def test_the_address_of_the_demo_begins_with_the_tour(visitor: Any) -> None:
    visitor.page.goto(f"{visitor.address}#Tour")
    visitor.enter("alice")
    expect(visitor.page.locator("dialog")).to_contain_text("Two tables that differ by one person")
    visitor.page.reload()
    visitor.page.wait_for_selector(".ask")
    expect(visitor.page.locator("dialog")).to_have_count(0)
