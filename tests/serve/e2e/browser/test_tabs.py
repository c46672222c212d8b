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


def test_a_pair_is_compared(visit: Visit, server: Server) -> None:
    page = visit.page
    visit.tab("Pair")
    texts = "The cat sat on the mat.", "A feline rested on a rug."
    page.get_by_label("Sentence", exact=True).fill(texts[0])
    page.get_by_label("Other sentence").fill(texts[1])
    page.get_by_role("button", name="Compare", exact=True).click()
    for side, model in (("first", "vicreg-42"), ("second", "vicreg_modified-42")):
        value = cosine(server, model, *texts)
        score = page.locator(f"#pair-scores .score.{side}")
        expect(score.locator(".cosine")).to_have_text(f"{value:.3f}")
        # Quantiles from 0.2 to 1 in equal steps: see store.py.
        percent = float(np.clip((value - 0.2) / 0.8, 0, 1) * 100)
        expect(score).to_contain_text(f"higher than {percent:.0f} %")
    visit.chart("pair-chart", "Where the pair stands")
    expect(page.get_by_role("radio").first).to_be_visible()
    for kind, begin in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save this chart as {kind}").first.click()
        assert Path(download.value.path()).read_bytes().startswith(begin)
    visit.hold("pair")


def test_pairs_on_which_they_disagree_are_offered_and_compared(visit: Visit) -> None:
    page = visit.page
    visit.tab("Pair")
    choice = page.locator("#examples label").first
    expect(choice).to_be_visible()
    first, second = choice.inner_text().rsplit(" (", 1)[0].split(" ↔ ")
    choice.click()
    expect(page.get_by_label("Sentence", exact=True)).to_have_value(first)
    expect(page.get_by_label("Other sentence")).to_have_value(second)
    expect(page).to_have_url(re.compile("original=vicreg-42&modified=vicreg_modified-42&a="))


def test_many_pairs_are_scored_against_grades(visit: Visit, server: Server) -> None:
    page = visit.page
    visit.tab("Pairs")
    page.locator("#sample-pairs").click()
    expect(page.locator("#pairs-text textarea")).to_have_value(re.compile("\t"))
    page.locator("#score-pairs").click()
    expect(page.locator("#pairs-summary table")).to_contain_text("vicreg_modified-42")
    heading = page.locator("#pairs-table th", has_text="Ranks apart").first
    expect(heading).to_be_attached()
    assert heading.evaluate("(cell) => cell.getBoundingClientRect().width") > 100
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the table as CSV").click()
    content = Path(download.value.path()).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(content)))
    assert len(rows) == 375
    row = rows[17]
    found = cosine(server, "vicreg-42", row["First sentence"], row["Second sentence"])
    assert abs(float(row["vicreg-42: cosine"]) - found) < 1e-3
    apart = [abs(float(one["Ranks apart"])) for one in rows]
    assert apart == sorted(apart, reverse=True)
    visit.hold("pairs")


def test_a_matrix_of_sentences_is_drawn(visit: Visit) -> None:
    page = visit.page
    visit.tab("Matrix")
    visit.chart("map-first")
    page.locator("#matrix-text textarea").fill("\n".join(corpus()[:5]))
    page.locator("#compare-all").click()
    for element in ("map-first", "map-second", "map-difference"):
        visit.chart(element)
    expect(page.locator("#tabs ol li")).to_have_count(5)
    visit.hold("matrix")


def test_a_search_shows_what_moved(visit: Visit) -> None:
    page = visit.page
    visit.tab("Search")
    expect(page.locator("#found table")).to_have_count(2)
    page.locator("#query textarea, #query input").first.fill("a river in flood")
    page.locator("#search").click()
    rows = page.locator("#found tbody tr")
    expect(rows).to_have_count(16)
    expect(page.locator("#found")).to_contain_text("rank")
    visit.hold("search")


def test_the_gradient_follows_the_sliders(visit: Visit) -> None:
    page = visit.page
    visit.tab("Gradient")
    second = page.locator("#lab .verdict-line.second")
    expect(second).to_contain_text("vicreg_modified")
    margin = page.locator("#lab-margin")
    expect(margin).to_have_value("0.3")
    margin.fill("0")
    expect(second).to_contain_text("12 of 12 are settled")
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
    visit.chart("curve-dev_spearman", "vicreg_modified-42")
    visit.chart("curve-ratio")
    expect(page.locator("#training-summary")).to_contain_text("200 steps")
    expect(page.locator("#results table")).to_contain_text("vicreg_modified")
    visit.hold("training")
