"""Every tab as a person uses it; `make verify`: on a desktop and a phone, light and dark.

Each ends with what must hold of every page: no request to another machine, no error on the console,
nothing wider than the screen, no serious finding of axe-core; and with a picture in .screenshots.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from playwright.sync_api import expect

from tests.tiny import corpus

if TYPE_CHECKING:
    from tests.serve.e2e.browser.chromium import Visit
    from tests.serve.e2e.process import Server


def cosine(server: Server, model: str, first: str, second: str) -> float:
    answer = server.post("/v1/similarity", {"model": model, "pairs": [[first, second]]})
    return float(answer.json["data"][0]["similarities"][0])


def test_the_story_is_told_without_the_service_and_its_scrubber_moves_it(visit: Visit) -> None:
    page = visit.page
    expect(page.locator("#figure-dev svg")).to_have_attribute("aria-label", re.compile("step 400"))
    page.locator("#scrubber").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#figure-dev svg")).to_have_attribute("aria-label", re.compile("step 10"))
    page.get_by_role("tab", name="How hard to pull").click()
    expect(page.locator("#figure-ratio svg")).to_be_visible()
    expect(page.locator("#figure-dissipation")).to_be_hidden()


def test_a_pair_is_compared(visit: Visit, server: Server) -> None:
    page = visit.page
    visit.tab("Pair")
    texts = "The cat sat on the mat.", "A feline rested on a rug."
    page.locator("#a textarea").fill(texts[0])
    page.locator("#b textarea").fill(texts[1])
    page.locator("#run-pair").click()
    for side, model in enumerate(("vicreg-42", "vicreg_modified-42")):
        value = cosine(server, model, *texts)
        score = page.locator(f"#pair-result .score.side-{side}")
        expect(score.locator(".cosine")).to_have_text(f"{value:.3f}")
        # Quantiles from 0.2 to 1 in equal steps: see store.py.
        percent = float(np.clip((value - 0.2) / 0.8, 0, 1) * 100)
        expect(score).to_contain_text(f"nearer than {percent:.0f} %")
    visit.hold("pair")


def test_pairs_to_try_are_offered_and_compared(visit: Visit) -> None:
    page = visit.page
    visit.tab("Pair")
    expect(page.locator("#guided")).to_contain_text("Of 12 chosen pairs")
    probe = page.locator(".probe").first
    first, second = probe.inner_text().split("\n")
    probe.click()
    expect(page.locator("#a textarea")).to_have_value(first)
    expect(page.locator("#b textarea")).to_have_value(second)
    expect(page).to_have_url(re.compile("#.*deer"))


def test_many_pairs_are_scored_against_grades(visit: Visit, server: Server) -> None:
    page = visit.page
    visit.tab("Pairs")
    page.locator("#sample-pairs").click()
    expect(page.locator("#pairs textarea")).to_have_value(re.compile("\t"))
    page.locator("#run-pairs").click()
    expect(page.locator("#pairs-result table").first).to_contain_text("B minus A")
    heading = page.locator("#pairs-table th", has_text="B - A")
    expect(heading).to_have_attribute("aria-sort", "descending")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download all as CSV").click()
    content = Path(download.value.path()).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(content)))
    assert len(rows) == 375
    row = rows[17]
    found = cosine(server, "vicreg-42", row["First sentence"], row["Second sentence"])
    assert abs(float(row["A: cosine"]) - found) < 1e-3
    apart = [abs(float(one["B - A"])) for one in rows]
    assert apart == sorted(apart, reverse=True)
    page.locator("#pairs-table th", has_text="Graded").get_by_role("button").press("Enter")
    grades = page.locator("#pairs-table td:nth-child(4)").all_inner_texts()
    assert grades == sorted(grades, key=float, reverse=True)
    visit.hold("pairs")


def test_a_matrix_of_sentences_is_drawn_and_read_by_keyboard(visit: Visit) -> None:
    page = visit.page
    visit.tab("Matrix")
    page.locator("#matrix textarea").fill("\n".join(corpus()[:5]))
    page.locator("#run-matrix").click()
    expect(page.locator("#matrix-result ol li")).to_have_count(5)
    maps = page.locator("#matrix-result svg")
    expect(maps).to_have_count(3)
    maps.first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#matrix-result .readout")).to_contain_text("B - A")
    expect(page.locator("#matrix-result .here")).to_have_count(3)
    visit.hold("matrix")


def test_a_search_shows_what_moved(visit: Visit) -> None:
    page = visit.page
    visit.tab("Search")
    expect(page.locator("#found table")).to_have_count(2)
    page.locator("#query textarea, #query input").first.fill("a river in flood")
    page.locator("#run-search").click()
    expect(page.locator("#found tbody tr")).to_have_count(16)
    expect(page.locator("#found")).to_contain_text("Rank with B")
    visit.hold("search")


def test_the_gradient_follows_the_sliders(visit: Visit) -> None:
    page = visit.page
    visit.tab("Gradient")
    second = page.locator("#lab .verdict-line.second")
    expect(second).to_contain_text("vicreg_modified")
    margin = page.locator("#lab-margin")
    expect(margin).to_have_value("0.3")
    margin.fill("0")
    expect(second).to_contain_text(re.compile(r"\b[1-9]\d* of 12 are settled"))
    margin.fill("2")
    expect(second).to_contain_text("0 of 12 are settled")
    page.get_by_role("button", name="Back to both encoders").click()
    expect(margin).to_have_value("0.3")
    page.locator("#lab .maps summary").click()
    expect(page.locator("#lab .maps svg")).to_have_count(2)
    visit.hold("gradient")


def test_the_training_of_both_is_shown(visit: Visit) -> None:
    page = visit.page
    visit.tab("Training")
    expect(page.locator("#training svg")).to_have_count(6)
    expect(page.locator("#training .scores")).to_contain_text("400 steps")
    expect(page.locator("#training table")).to_contain_text("vicreg_modified")
    visit.hold("training")
