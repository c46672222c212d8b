"""The address holds what is shown: passed on, reloaded and gone back to, it shows that again."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.serve.e2e.browser.chromium import PATIENCE, visiting
from tests.serve.e2e.browser.conftest import load_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.serve.e2e.browser.chromium import Visit
    from tests.serve.e2e.process import Server

FIRST = "#a textarea"


def compare(visit: Visit, sentence: str) -> None:
    """Write a sentence and compare it with Enter."""
    visit.page.locator(FIRST).fill(sentence)
    visit.page.locator(FIRST).press("Enter")


def test_a_link_shows_the_view_that_it_was_made_of(browser: Browser, server: Server) -> None:
    view = {
        "first": "vicreg_modified-42",
        "second": "vicreg-42",
        "a": "Tea & cake?",
        "b": "100 % cocoa #1",
    }
    with visiting(browser) as visit:
        page = visit.open(f"{load_page(server)}#{urlencode(view)}")
        expect(page.locator("#pair-result .score.side-0 h3")).to_have_text(
            "A VICReg, modified, seed 42"
        )
        expect(page.locator(FIRST)).to_have_value(view["a"])
        expect(page.locator("#b textarea")).to_have_value(view["b"])


def test_a_page_that_opens_begins_with_the_story(browser: Browser, server: Server) -> None:
    with visiting(browser) as visit:
        page = visit.open(load_page(server))
        expect(page.locator("#pair-result .cosine")).to_have_count(2)
        assert page.evaluate("window.scrollY") == 0


def test_a_link_opens_the_panel_that_was_shown(browser: Browser, server: Server) -> None:
    with visiting(browser) as visit:
        page = visit.page
        page.goto(f"{load_page(server)}#tab=search&query=tea")
        expect(page.locator("#found table")).to_have_count(2)
        expect(page.locator("#query textarea, #query input").first).to_have_value("tea")


def test_a_link_to_an_encoder_that_is_gone_says_so_and_shows_those_there_are(
    browser: Browser, server: Server
) -> None:
    with visiting(browser) as visit:
        page = visit.open(f"{load_page(server)}#first=gone-1")
        expect(page.locator("#status")).to_contain_text("asks for 'gone-1'")
        expect(page.locator("#pair-result .score.side-0 h3")).to_have_text("A VICReg, seed 42")


def test_back_shows_the_comparison_before(browser: Browser, server: Server) -> None:
    with visiting(browser) as visit:
        page = visit.open(load_page(server))
        compare(visit, "Snow fell all night.")
        expect(page).to_have_url(re.compile("Snow"))
        compare(visit, "Rain fell all day.")
        expect(page).to_have_url(re.compile("Rain"))
        page.go_back()
        expect(page.locator(FIRST)).to_have_value("Snow fell all night.")


def test_a_text_too_long_for_a_link_is_said_to_be_and_survives_a_reload(
    browser: Browser, server: Server
) -> None:
    long = "word " * 1000
    with visiting(browser) as visit:
        page = visit.open(load_page(server))
        compare(visit, long)
        expect(page.locator("#said")).to_contain_text("too long for a link")
        assert len(page.evaluate("location.hash")) <= 2000
        assert "?" not in page.url
        page.reload()
        expect(page.locator(FIRST)).to_have_value(long)


def test_results_of_other_inputs_are_dimmed_at_once(browser: Browser, server: Server) -> None:
    with visiting(browser) as visit:
        page = visit.open(load_page(server))
        expect(page.locator("#pair-result .cosine")).to_have_count(2)
        page.locator(FIRST).fill("Something else")
        expect(page.locator("#view-pair.stale")).to_have_count(1, timeout=500)
        page.locator(FIRST).press("Enter")
        expect(page.locator("#view-pair.stale")).to_have_count(0)


@pytest.mark.parametrize("kind", ["curl", "Python"])
def test_what_is_on_screen_can_be_copied_from_every_view_as_a_request_that_runs(
    browser: Browser, server: Server, kind: str
) -> None:
    answers = {"Pair": 1, "Gradient": 2, "Pairs": 1, "Matrix": 1, "Search": 2, "Training": 3}
    with visiting(browser) as visit:
        visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = visit.open(load_page(server))
        page.locator("#a textarea").fill("It's a \"dog\"\\, 'no'?")
        page.locator("#run-pair").click()
        for tab, count in answers.items():
            visit.tab(tab)
            if tab == "Pairs":
                page.locator("#pairs textarea").fill('a dog;a cat\n"a hen";a cock')
                page.locator("#run-pairs").click()
                expect(page.locator("#pairs-table")).to_contain_text("a cock")
            if tab == "Gradient":
                expect(page.locator("#lab .sentence")).to_have_count(12, timeout=4 * PATIENCE)
            page.get_by_role("button", name=f"Copy as {kind}").click()
            expect(page.locator("#said")).to_contain_text(f"copied as {kind}")
            text = page.evaluate("navigator.clipboard.readText()")
            command = ["sh", "-c", text] if kind == "curl" else [sys.executable, "-c", text]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
            assert done.stdout.count("'object': ") + done.stdout.count('"object":') >= count, text
            assert "'error'" not in done.stdout
            assert '"error"' not in done.stdout
