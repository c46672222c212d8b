"""Somebody clicks and types nonsense: nothing breaks. `make verify`: for an hour.

WALK_MINUTES changes the hour, WALK_SEED repeats a walk, as far as the service's pace allows.
"""

from __future__ import annotations

import os
import random
import time
from collections import deque
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

if TYPE_CHECKING:
    from playwright.sync_api import Page, Response

    from tests.serve.e2e.browser.chromium import Visit
    from tests.serve.e2e.process import Server

LONG = float(os.environ.get("WALK_MINUTES", "60"))
TOLD = 25  # of the last actions, where something broke
PAUSE = 500  # milliseconds that an action may take
TEXTS = (
    "",
    " ",
    "a\tb\nc",
    "\U0001f600" * 3,
    "<img src=x onerror=alert(1)>",
    "%{x} $y$ \\u0000",
    "-1",
    "0.5",
    "1e-300",
    "1e999",
    "\u4e2d\u6587",
    "word " * 500,
    'a "quoted", cell\nb,c,3',
    "#tab=search&a=b",
)
KEYS = ("Tab", "Enter", "ArrowRight", "ArrowLeft", "ArrowDown", "Home", "PageUp", "Escape")
# Files are asked for by a dialogue of the browser, which is not the page's.
PLACES = {
    "click": "button:visible:not(#pairs-file button):not([id^=component]), summary:visible, "
    "#lab .sentence:visible, #lab .fans g:visible, #lab .maps rect:visible",
    "type": "textarea:visible, input[type=text]:visible, input[type=number]:visible",
    "slide": "input[type=range]:visible",
    "choose": "select:visible",
}
KINDS = ("click", "click", "click", "type", "slide", "choose", "key", "history")
SET = """(one, [kind, amount]) => {
    if (kind === 'slide') one.value = +one.min + amount * (one.max - one.min);
    else one.selectedIndex = Math.floor(amount * one.length);
    one.dispatchEvent(new Event(kind === 'slide' ? 'input' : 'change', {bubbles: true}));
}"""


def wander(page: Page, chance: random.Random) -> str:
    """One action, in words; some are impossible, and the page says so by itself."""
    kind, text = chance.choice(KINDS), chance.choice(TEXTS)
    try:
        return f"{kind} {act(page, kind, chance.random(), chance.random(), text)}"
    except Error as error:  # a place went away or is covered, as for anybody who is quick
        return f"{kind} in vain: {error.message.splitlines()[0]}"


def act(page: Page, kind: str, part: float, amount: float, text: str) -> str:
    """What was acted on: `part`, of one, chooses among what there is, `amount` how far it goes."""
    if kind == "history":
        page.evaluate("history.back()" if part < 0.6 else "history.forward()")
        return "back" if part < 0.6 else "forward"
    if kind == "key":
        key = KEYS[int(part * len(KEYS))]
        page.keyboard.press(key)
        return key
    places = page.locator(PLACES[kind])
    count = places.count()
    if not count:
        return "nothing"
    place = places.nth(int(part * count))
    said = str(place.evaluate("one => one.outerHTML.slice(0, 120)", timeout=PAUSE))
    if kind == "click":
        place.click(timeout=PAUSE)
    elif kind == "type":
        place.fill(text, timeout=PAUSE)
    else:
        place.evaluate(SET, [kind, amount], timeout=PAUSE)
    return f"{said} {text[:40]!r} {amount:.2f}"


@pytest.mark.parametrize("minutes", [1.0, pytest.param(LONG, marks=pytest.mark.verify)])
def test_nothing_breaks_under_clicks_and_nonsense(
    visitor: Visit, server: Server, minutes: float
) -> None:
    seed = int(os.environ.get("WALK_SEED") or random.SystemRandom().randrange(10**6))
    chance = random.Random(seed)
    actions: deque[str] = deque(maxlen=TOLD)
    page, problems = visitor.open(server.url), visitor.problems

    def hear(answer: Response) -> None:
        if answer.status >= 400:
            problems.append(f"{answer.status} {answer.url}")

    page.on("response", hear)
    address = page.url
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end and not problems:
        actions.append(wander(page, chance))
        if not page.url.startswith(address):  # a link, or too far back
            page.goto(address)
    page.wait_for_timeout(PAUSE)  # what the last action brought about
    told = [*problems, f"WALK_SEED={seed}; the last actions:", *actions]
    assert not problems, "\n".join(told)
