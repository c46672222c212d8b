"""The README's pictures of the demo page, and how soon the page shows and answers.

    python -m benchmarks.pictures --out results/serving/demo.json --pictures docs/images

Starts the service with the two reference encoders, opens the page in Debian's Chromium (which
shares the cores) again and again with an empty cache, and compares pairs of the sample.

first_paint_ms  from the request to the browser's first contentful paint
ready_ms        to the first pair's cosines of both encoders
answer_ms       from a click on Compare until both cosines have changed
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from app import sample
from benchmarks.common import machine, spread
from benchmarks.servers import triad
from pipeline.machine import stage

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
SETTLED = 3000  # milliseconds after which charts are drawn and nothing moves
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# Resolves with the milliseconds from the click until both cosines are others than before.
ANSWER = """() => new Promise((resolve) => {
    const cosines = () => [...document.querySelectorAll('#pair-result .cosine')]
        .map((one) => one.textContent);
    const before = cosines();
    const begun = performance.now();
    const look = () => {
        const now = cosines();
        if (now.length === 2 && now.every((one, place) => one !== before[place]))
            resolve(performance.now() - begun);
        else requestAnimationFrame(look);
    };
    document.getElementById('run-pair').click();
    requestAnimationFrame(look);
})"""


@contextmanager
def visit(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """The page with the first pair's cosines, for a visitor whose cache is empty."""
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
    context.set_default_timeout(120_000)  # milliseconds
    try:
        page = context.new_page()
        page.goto(url)
        page.locator("#pair-result .cosine").nth(1).wait_for()
        yield page
    finally:
        context.close()


def measure(browser: Browser, url: str, visits: int, pairs: int) -> dict[str, Any]:
    """The three times, in milliseconds."""
    paint, ready, answer = [], [], []
    for _ in range(visits):
        with visit(browser, url) as page:
            ready.append(page.evaluate("performance.now()"))
            paint.append(page.evaluate(FIRST_PAINT))
    with visit(browser, url) as page:
        page.wait_for_timeout(SETTLED)
        for pair in sample.graded_pairs()[:pairs]:
            page.get_by_label("Sentence", exact=True).fill(pair.first)
            page.get_by_label("Other sentence").fill(pair.second)
            answer.append(page.evaluate(ANSWER))
    return {
        "first_paint_ms": spread(paint),
        "ready_ms": spread(ready),
        "answer_ms": spread(answer),
    }


def take_pictures(browser: Browser, url: str, folder: Path) -> None:
    """What the README shows: a pair in light colours, a gradient in dark ones."""
    folder.mkdir(parents=True, exist_ok=True)
    size = {"width": 1280, "height": 1240}
    with visit(browser, url, viewport=size, color_scheme="light") as page:
        page.locator("#guided table").wait_for()
        page.wait_for_timeout(SETTLED)
        page.screenshot(path=folder / "demo-pair.png")
    with visit(browser, url, viewport=size, color_scheme="dark") as page:
        page.get_by_role("tab", name="Gradient", exact=True).click()
        page.locator("#lab .sentence").first.wait_for()
        page.wait_for_timeout(SETTLED)
        page.evaluate("document.getElementById('lab').scrollIntoView()")
        page.mouse.move(0, 0)  # what the mouse rests on would be lit
        page.wait_for_timeout(500)
        page.screenshot(path=folder / "demo-gradient.png")


def main() -> None:
    """Command line."""
    parser = stage.parser("benchmarks.pictures", __doc__)
    parser.add_argument("--visits", type=int, default=5, help="with an empty cache")
    parser.add_argument("--pairs", type=int, default=30, help="that are compared")
    parser.add_argument("--pictures", type=Path, help="folder for the README's pictures")
    parser.add_argument("--out", type=Path, help="JSON file of all figures")
    options = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not installed; apt-get install chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        with triad(Path(name) / "triad") as server:
            url = f"{server.url}/demo/"
            with visit(browser, url):  # the service loads the page on the first visit
                pass
            result = measure(browser, url, options.visits, options.pairs)
            if options.pictures:
                take_pictures(browser, url, options.pictures)
        browser.close()
    result["machine"] = machine("bentoml", "gradio", "openvino")
    text = json.dumps(result, indent=2) + "\n"
    print(text, end="")
    if options.out:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
