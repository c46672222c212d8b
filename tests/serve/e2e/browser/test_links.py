"""The address holds what is shown: passed on, reloaded and gone back to, it shows that again."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.serve.e2e.browser.chromium import PATIENCE

if TYPE_CHECKING:
    from tests.serve.e2e.browser.chromium import Visit
    from tests.serve.e2e.process import Server

FIRST = "#a textarea"


def compare(visit: Visit, sentence: str) -> None:
    """Write a sentence and compare it with Enter."""
    visit.page.locator(FIRST).fill(sentence)
    visit.page.locator(FIRST).press("Enter")


def test_a_link_shows_the_view_that_it_was_made_of(visitor: Visit, server: Server) -> None:
    sentences = {"a": "Tea & cake?", "b": "100 % cocoa #1"}
    view = {"first": "vicreg_modified-42", "second": "vicreg-42", **sentences}
    page = visitor.open(server.url, f"#{urlencode(view)}")
    title = "A VICReg, modified, seed 42"
    expect(page.locator("#pair-result .score.side-0 h3")).to_have_text(title)
    for box, sentence in sentences.items():
        expect(page.locator(f"#{box} textarea")).to_have_value(sentence)


def test_a_link_opens_the_panel_that_was_shown(visitor: Visit, server: Server) -> None:
    visitor.page.goto(f"{server.url}/demo/#tab=search&query=tea")
    expect(visitor.page.locator("#found table")).to_have_count(2)
    box = visitor.page.locator("#query textarea, #query input").first
    expect(box).to_have_value("tea")


def test_a_link_to_an_encoder_that_is_gone_says_so_and_shows_those_there_are(
    visitor: Visit, server: Server
) -> None:
    page = visitor.open(server.url, "#first=gone-1")
    expect(page.locator("#status")).to_contain_text("asks for 'gone-1'")
    expect(page.locator("#pair-result .score.side-0 h3")).to_have_text("A VICReg, seed 42")


def test_a_page_that_opens_begins_with_the_story(desk: Visit) -> None:
    assert desk.page.evaluate("window.scrollY") == 0


def test_back_shows_the_comparison_before(desk: Visit) -> None:
    for sentence in ("Snow fell all night.", "Rain fell all day."):
        compare(desk, sentence)
        expect(desk.page).to_have_url(re.compile(sentence[:4]))
    desk.page.go_back()
    expect(desk.page.locator(FIRST)).to_have_value("Snow fell all night.")


def test_a_text_too_long_for_a_link_is_said_to_be_and_survives_a_reload(desk: Visit) -> None:
    long = "word " * 1000
    compare(desk, long)
    expect(desk.page.locator("#said")).to_contain_text("too long for a link")
    assert len(desk.page.evaluate("location.hash")) <= 2000
    assert "?" not in desk.page.url
    desk.page.reload()
    expect(desk.page.locator(FIRST)).to_have_value(long)


def test_results_of_other_inputs_are_dimmed_at_once(desk: Visit) -> None:
    stale = desk.page.locator("#view-pair.stale")
    desk.page.locator(FIRST).fill("Something else")
    expect(stale).to_have_count(1, timeout=500)
    desk.page.locator(FIRST).press("Enter")
    expect(stale).to_have_count(0)


def test_what_is_on_screen_can_be_copied_from_every_view_as_a_request_that_runs(
    desk: Visit,
) -> None:
    answers = {"Pair": 1, "Gradient": 2, "Pairs": 1, "Matrix": 1, "Search": 2, "Training": 3}
    page = desk.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    compare(desk, "It's a \"dog\"\\, 'no'?")
    for tab, count in answers.items():
        desk.tab(tab)
        if tab == "Pairs":
            page.locator("#pairs textarea").fill('a dog;a cat\n"a hen";a cock')
            page.locator("#run-pairs").click()
            expect(page.locator("#pairs-table")).to_contain_text("a cock")
        if tab == "Gradient":
            expect(page.locator("#lab .sentence")).to_have_count(12, timeout=4 * PATIENCE)
        for kind, command in {"curl": ["sh", "-c"], "Python": [sys.executable, "-c"]}.items():
            page.get_by_role("button", name=f"Copy as {kind}").click()
            expect(page.locator("#said")).to_contain_text(f"copied as {kind}")
            text = page.evaluate("navigator.clipboard.readText()")
            done = subprocess.run(
                [*command, text], capture_output=True, text=True, timeout=60, check=True
            )
            said = done.stdout.replace("'", '"')
            assert said.count('"object":') >= count, text
            assert '"error"' not in said
