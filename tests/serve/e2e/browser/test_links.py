"""An address that was passed on shows what it was made of, or what there is instead."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.serve.e2e.browser.chromium import visiting
from tests.serve.e2e.browser.conftest import load_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.serve.e2e.process import Server


def test_a_link_shows_the_view_that_it_was_made_of(browser: Browser, server: Server) -> None:
    view = {
        "original": "vicreg_modified-42",
        "modified": "vicreg-42",
        "a": "Tea & cake?",
        "b": "100 % cocoa #1",
    }
    with visiting(browser) as visit:
        page = visit.open(f"{load_page(server)}?{urlencode(view)}")
        expect(page.locator("#pair-scores .score.first h3")).to_have_text("vicreg_modified-42")
        expect(page.get_by_label("Sentence", exact=True)).to_have_value(view["a"])
        expect(page.get_by_label("Other sentence")).to_have_value(view["b"])


@pytest.mark.verify
def test_a_link_to_an_encoder_that_is_gone_shows_those_there_are(
    browser: Browser, server: Server
) -> None:
    with visiting(browser) as visit:
        visit.open(f"{load_page(server)}?original=gone-1")
        expect(visit.page.locator("#pair-scores .score.first h3")).to_have_text("vicreg-42")
