"""A real browser, cut off from everything but this machine, and what every page must hold.

Not here: what a person does (test_*.py).
"""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Request

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 30_000  # milliseconds that an expectation may take on a busy machine
SCREENSHOTS = Path(__file__).parents[4] / ".screenshots"
# Nothing moves but what moves for ever, such as a sign that something is being fetched.
_STILL = """() => document.getAnimations().every((one) =>
    one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)"""
_LOCAL = re.compile(r"(https?://127\.0\.0\.1[:/]|data:|blob:)")

expect.set_options(timeout=PATIENCE)


@dataclass(frozen=True)
class View:
    """A screen, and the colour schemes that are looked at; the first is the one asked for."""

    name: str
    width: int
    height: int
    schemes: tuple[str, ...]


DESKTOP = View("desktop", 1440, 900, ("light",))
DARK_DESKTOP = View("dark-desktop", 1440, 900, ("dark",))
PHONE = View("phone", 390, 844, ("dark", "light"))


@dataclass
class Visit:
    """A page of somebody's, with what went wrong on it."""

    page: Page
    view: View
    problems: list[str] = field(default_factory=list)

    def open(self, url: str, link: str = "") -> Page:
        """Go to a service's page, which it loads on the first visit, and wait until it is made."""
        address = f"{url}/demo/{link}"
        self.page.goto(address, wait_until="domcontentloaded", timeout=4 * PATIENCE)
        expect(self.page.locator("#run-pair")).to_be_visible()
        return self.page

    def tab(self, name: str) -> None:
        """Choose a panel of the laboratory."""
        self.page.get_by_role("tab", name=name, exact=True).click()

    def settle(self) -> None:
        """Wait until what changed last is there and has faded in."""
        self.page.wait_for_timeout(300)
        expect(self.page.locator(".pending")).to_have_count(0)
        self.page.wait_for_function(_STILL)

    def hold(self, name: str) -> None:
        """What must be true of every page at any time, light and dark; keeps pictures of it."""
        self.settle()
        problems, self.problems = self.problems, []
        assert not problems, "\n".join(problems)
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= self.view.width, f"the page is {wide} px wide"
        SCREENSHOTS.mkdir(exist_ok=True)
        for scheme in self.view.schemes:
            self._show(scheme)
            self.settle()
            file = SCREENSHOTS / f"{name}-{self.view.name}-{scheme}.png"
            self.page.screenshot(path=file, full_page=True)
            found = serious(self.page)
            assert not found, f"{scheme}: " + "\n".join(found)
        self._show(self.view.schemes[0])

    def _show(self, scheme: str) -> None:
        dark = scheme == "dark"
        self.page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)


def serious(page: Page) -> list[str]:
    """Findings of axe-core that keep people from using the page."""
    found: dict[str, Any] = Axe().run(page).response
    return [
        f"{one['id']}: {node['html'][:300]} {node.get('failureSummary', '')}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@contextmanager
def visiting(browser: Browser, view: View = DESKTOP) -> Iterator[Visit]:
    """A visitor of its own, with no request let through to another machine."""
    context = browser.new_context(
        viewport={"width": view.width, "height": view.height},
        color_scheme="dark" if view.schemes[0] == "dark" else "light",
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    visit = Visit(page, view)

    def asked(request: Request) -> None:
        if not _LOCAL.match(request.url):
            visit.problems.append(f"asks {request.url}")

    def told(message: ConsoleMessage) -> None:
        if message.type == "error":
            visit.problems.append(f"console: {message.text} ({message.location})")

    context.route(lambda url: not _LOCAL.match(url), lambda route: route.abort())
    page.on("request", asked)
    page.on("console", told)
    page.on("pageerror", lambda error: visit.problems.append(f"script: {error}"))
    try:
        yield visit
    finally:
        context.close()
