"""How soon the demo shows, how soon it answers, and the README's pictures of it.

    python -m benchmarks.demo --models models --out FILE --pictures docs/images

Starts the service with the trained encoders, opens the page in Debian's Chromium (which shares the
cores) again and again with an empty cache, and compares pairs of the sample by clicking.

first_paint_ms  from the request to the browser's first contentful paint
ready_ms        to the first pair's cosines of both encoders
answer_ms       from a click on Compare until both cosines have changed
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import yaml
from playwright.sync_api import sync_playwright

from app import sample
from benchmarks.serve_peers import machine, peers
from benchmarks.serve_peers.process import Server, stop_servers_when_terminated
from benchmarks.serve_peers.texts import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
_FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# Resolves with the milliseconds from the click until both cosines are others than before.
_ANSWER = """() => new Promise((resolve) => {
    const cosines = () => [...document.querySelectorAll('#pair-scores .cosine')]
        .map((one) => one.textContent);
    const before = cosines();
    const begun = performance.now();
    const look = () => {
        const now = cosines();
        if (now.length === 2 && now.every((one, place) => one !== before[place]))
            resolve(performance.now() - begun);
        else requestAnimationFrame(look);
    };
    document.getElementById('compare').click();
    requestAnimationFrame(look);
})"""


def measured_load(browser: Browser, url: str) -> tuple[float, float]:
    """First paint and first answer of a visitor whose cache is empty, milliseconds."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        page.goto(url)
        _wait_for_answer(page)
        ready = float(page.evaluate("performance.now()"))
        return float(page.evaluate(_FIRST_PAINT)), ready
    finally:
        context.close()


def measured_answers(browser: Browser, url: str, count: int) -> list[float]:
    """Milliseconds from click to answer, of different pairs."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        page.goto(url)
        _wait_for_answer(page)
        page.wait_for_timeout(3000)  # what the page does at first is over
        answers = []
        for pair in sample.graded_pairs()[:count]:
            page.get_by_label("Sentence", exact=True).fill(pair.first)
            page.get_by_label("Other sentence").fill(pair.second)
            answers.append(float(page.evaluate(_ANSWER)))
        return answers
    finally:
        context.close()


def take_pictures(browser: Browser, url: str, folder: Path) -> None:
    """What the README shows: a pair on a wide screen, a gradient in the dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, dark, tab in (("pair", False, "Pair"), ("gradient", True, "Gradient")):
        context = browser.new_context(
            viewport={"width": 1280, "height": 1240}, color_scheme="dark" if dark else "light"
        )
        page = context.new_page()
        page.goto(url)
        _wait_for_answer(page)
        page.get_by_role("tab", name=tab, exact=True).first.click()
        waited = "#pair-chart" if tab == "Pair" else "#step-second"
        page.locator(f"{waited} .js-plotly-plot[role=img]").wait_for()
        page.wait_for_timeout(2000)
        if tab == "Gradient":
            page.evaluate("document.getElementById('gradient-settings').scrollIntoView()")
        page.wait_for_timeout(500)
        page.screenshot(path=folder / f"demo-{name}.png")
        context.close()


def _wait_for_answer(page: Page) -> None:
    page.locator("#pair-scores .cosine").nth(1).wait_for(timeout=120_000)


def main() -> None:
    """Command line."""
    options = _parser().parse_args()
    stop_servers_when_terminated()
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed; apt-get install chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        content = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
        content["serve"]["models"] = str(options.models.resolve())
        params = folder / "params.yaml"
        params.write_text(yaml.safe_dump(content), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        with Server(peers.ours(params), folder) as server:
            url = f"http://127.0.0.1:{server.port}/demo/"
            measured_load(browser, url)  # the service loads the page on the first visit
            loads = [measured_load(browser, url) for _ in range(options.loads)]
            answers = measured_answers(browser, url, options.answers)
            if options.pictures:
                take_pictures(browser, url, options.pictures)
        browser.close()
    paints, ready = zip(*loads, strict=True)
    result = {
        "machine": machine.described(),
        "first_paint_ms": _spread(paints),
        "ready_ms": _spread(ready),
        "answer_ms": _spread(answers),
    }
    text = json.dumps(result, indent=2) + "\n"
    print(text, end="")
    if options.out:
        options.out.write_text(text, encoding="utf-8")


def _spread(values: list[float] | tuple[float, ...]) -> dict[str, float | int]:
    return {
        "median": round(float(np.median(values)), 1),
        "least": round(min(values), 1),
        "greatest": round(max(values), 1),
        "count": len(values),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--models", type=Path, default=Path("models"), help="trained encoders")
    parser.add_argument("--loads", type=int, default=5, help="visits with an empty cache")
    parser.add_argument("--answers", type=int, default=30, help="pairs that are compared")
    parser.add_argument("--pictures", type=Path, help="folder for the README's pictures")
    parser.add_argument("--out", type=Path, help="JSON file of all figures")
    return parser


if __name__ == "__main__":
    main()
