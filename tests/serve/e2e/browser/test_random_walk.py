"""Somebody clicks and types nonsense: nothing breaks. `make verify`: for an hour."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

from tests.serve.e2e.browser.chromium import visiting
from tests.serve.e2e.browser.conftest import load_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.serve.e2e.process import Server

TEXTS = (
    "",
    " ",
    "a\tb\nc",
    "\U0001f600" * 3,
    "<img src=x onerror=alert(1)>",
    "%{x} $y$ \\u0000",
    "-1",
    "1e999",
    "\u4e2d\u6587",
    "word " * 500,
    'a "quoted", cell\nb,c,3',
    "#tab=search&a=b",
)
# Files are asked for by a dialogue of the browser, which is not the page's.
CLICKABLE = "button:visible:not(#pairs-file button):not([id^=component]), summary:visible"
WRITABLE = "textarea:visible, input[type=text]:visible, input[type=number]:visible"


def wander(page: Page, chance: random.Random) -> None:
    """One action, of which some are impossible; the page says so by itself."""
    kind = chance.choice(["click", "click", "type", "key", "back"])
    if kind == "back":
        page.evaluate(f"history.{chance.choice(['back', 'forward'])}()")
        return
    if kind == "key":
        page.keyboard.press(chance.choice(["Tab", "Enter", "ArrowRight", "ArrowDown", "Escape"]))
        return
    places = page.locator(CLICKABLE if kind == "click" else WRITABLE)
    count = places.count()
    if not count:
        return
    place = places.nth(chance.randrange(count))
    try:
        if kind == "click":
            place.click(timeout=500)
        else:
            place.fill(chance.choice(TEXTS), timeout=500)
    except Error:  # it went away or is covered, as for anybody who is quick
        return


@pytest.mark.parametrize("seconds", [20, pytest.param(3600, marks=pytest.mark.verify)])
def test_nothing_breaks_under_clicks_and_nonsense(
    browser: Browser, server: Server, seconds: int
) -> None:
    chance = random.Random(seconds)
    refused: list[str] = []
    with visiting(browser) as visit:
        page = visit.open(load_page(server))
        page.on(
            "response",
            lambda answer: (
                refused.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
            ),
        )
        address = page.url
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            wander(page, chance)
            if not page.url.startswith(address):  # a link, or too far back
                page.goto(address)
        assert not refused, "\n".join(refused)
        assert not visit.problems, "\n".join(visit.problems)
