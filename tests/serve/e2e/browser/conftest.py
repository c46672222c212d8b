"""A browser, and somebody who has the page open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from tests.serve.e2e.browser.chromium import (
    CHROMIUM,
    DESKTOP,
    FLAGS,
    LIGHT_DESKTOP,
    PHONE,
    View,
    Visit,
    visiting,
)
from tests.serve.e2e.process import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.serve.e2e.process import Server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    if CHROMIUM is None:
        pytest.skip(
            "Chromium is not installed, so the page was not tried: apt-get install chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def load_page(server: Server) -> str:
    """Wait until the service has loaded the page, which it does on the first visit; its address."""
    eventually(lambda: server.get("/demo/").status == 200)
    return f"{server.url}/demo/"


@pytest.fixture(
    scope="module",
    params=[
        LIGHT_DESKTOP,
        pytest.param(DESKTOP, marks=pytest.mark.verify),
        pytest.param(PHONE, marks=pytest.mark.verify),
    ],
    ids=lambda view: view.name,
)
def visit(request: pytest.FixtureRequest, browser: Browser, server: Server) -> Iterator[Visit]:
    """Somebody who has the page open and looks at one tab after another, on each screen."""
    view: View = request.param
    with visiting(browser, view) as visit:
        visit.open(load_page(server))
        yield visit
