"""A browser, and somebody who has the page open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.serve.e2e.browser.chromium import (
    CHROMIUM,
    DARK_DESKTOP,
    DESKTOP,
    FLAGS,
    PHONE,
    Visit,
    visiting,
)

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


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visit]:
    """Somebody who has not opened the page yet."""
    with visiting(browser) as visit:
        yield visit


@pytest.fixture
def desk(visitor: Visit, server: Server) -> Visit:
    """Somebody who has just opened the page."""
    visitor.open(server.url)
    expect(visitor.page.locator("#pair-result .cosine")).to_have_count(2)
    return visitor


@pytest.fixture(
    scope="module",
    params=[
        DESKTOP,
        pytest.param(DARK_DESKTOP, marks=pytest.mark.verify),
        pytest.param(PHONE, marks=pytest.mark.verify),
    ],
    ids=lambda view: view.name,
)
def visit(request: pytest.FixtureRequest, browser: Browser, server: Server) -> Iterator[Visit]:
    """Somebody who has the page open and looks at one tab after another, on each screen."""
    with visiting(browser, request.param) as visit:
        visit.open(server.url)
        yield visit
