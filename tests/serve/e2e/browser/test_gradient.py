"""The gradient view: one batch, computed in the browser; keys, links, and what cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.serve.e2e.browser.chromium import PATIENCE, visiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.serve.e2e.browser.chromium import Visit
    from tests.serve.e2e.process import Server


@pytest.fixture(scope="module")
def lab(browser: Browser, server: Server) -> Iterator[Visit]:
    """For tests that may come one after another; each begins with the encoders' own settings."""
    with visiting(browser) as visit:
        visit.open(server.url)
        visit.tab("Gradient")
        # The first time, the service loads PyTorch.
        expect(visit.page.locator("#lab .sentence")).to_have_count(12, timeout=4 * PATIENCE)
        yield visit


@pytest.fixture
def page(lab: Visit) -> Page:
    lab.page.get_by_role("button", name="Back to both encoders").click()
    return lab.page


def test_arrow_keys_choose_the_anchor(page: Page) -> None:
    anchors = page.get_by_role("listbox", name="Anchor of the batch")
    anchors.focus()
    page.keyboard.press("Home")
    expect(anchors.get_by_role("option", selected=True)).to_contain_text("A cat sleeps")
    page.keyboard.press("ArrowDown")
    expect(anchors.get_by_role("option", selected=True)).to_contain_text("couch")


def test_the_margin_is_moved_by_keys_and_by_dragging(page: Page) -> None:
    handle = page.get_by_role("slider", name="Margin of the gate")
    handle.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#lab-margin")).to_have_value("0.31")
    box = page.locator("#lab .handle circle").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y)
    page.mouse.up()
    assert float(page.locator("#lab-margin").input_value()) > 0.4


def test_the_ablation_is_walked_by_buttons(page: Page) -> None:
    for label, objective in [
        ("as VICReg", "vicreg"),
        ("+ dissipation", "vicreg_dissipation"),
        ("+ weight", "vicreg_dissipation_weight"),
        ("+ ratio", "vicreg_modified"),
    ]:
        button = page.get_by_role("button", name=label, exact=True)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#lab .verdict-line.second")).to_contain_text(f"B {objective} ")


def test_every_objective_is_drawn_on_either_side_without_a_request(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for side in ("A", "B"):
        choice = page.get_by_label(f"Objective {side}", exact=True)
        names = choice.locator("optgroup[label='of Triad'] option").all_inner_texts()
        assert len(names) > 20
        for name in names:
            choice.select_option(name)
            line = page.locator(f"#lab .verdict-line.{'first' if side == 'A' else 'second'}")
            expect(line).to_contain_text(f"{side} {name} ")
            expect(line).not_to_contain_text("NaN")
    assert not [url for url in asked if "heartbeat" not in url]


def test_a_loss_of_others_is_taken_apart_by_the_service(page: Page, server: Server) -> None:
    choice = page.get_by_label("Objective B", exact=True)
    line = page.locator("#lab .verdict-line.second")
    slider = page.get_by_label("margin m", exact=True)
    choice.select_option("siglip")
    expect(line).to_contain_text("B siglip pushes this anchor with ")
    expect(page.locator("#lab .choice.second")).to_contain_text("computed by the service")
    expect(page.locator("#lab .choice.first")).not_to_contain_text("service")
    page.get_by_label("Objective A", exact=True).select_option("vicreg")
    expect(slider).to_be_hidden()
    page.locator("#lab .sentence").first.click()
    batch = page.evaluate("window.triadLab.state().batch")
    del batch["positives"]
    asked = {"model": "vicreg_modified-42", "objective": "siglip"}
    found = server.post("/v1/components", batch | asked).json
    ratio = page.locator("#lab .number.ratio .bar.second .value")
    expect(ratio).to_have_text(f"{found['ratio'][0]:.2f}")
    page.get_by_role("button", name="+ gate and ratio").click()
    expect(line).to_contain_text("B siglip_repaired ")
    expect(ratio).to_have_text("1.50")
    expect(slider).to_be_visible()
    page.locator("#lab-ratio").fill("2")
    expect(ratio).to_have_text("2.00")


def test_sliders_that_no_objective_on_screen_has_are_hidden(page: Page) -> None:
    page.get_by_label("Objective A", exact=True).select_option("vicreg")
    page.get_by_label("Objective B", exact=True).select_option("mhe")
    for slider in ("margin m", "temperature t", "ratio r"):
        expect(page.get_by_label(slider, exact=True)).to_be_hidden()


def test_where_the_service_refuses_a_loss_the_one_before_stays(page: Page) -> None:
    page.get_by_label("Objective B", exact=True).select_option("nt_xent")
    line = page.locator("#lab .verdict-line.second")
    expect(line).to_contain_text("B nt_xent ")
    said = line.inner_text()
    page.get_by_label("Objective B", exact=True).select_option("circle")
    expect(page.locator("#lab.stale, #lab .stale")).to_have_count(1)
    # As the page hears of a refusal, before the answer.
    page.evaluate(
        "import(new URL('lab/lab.js', document.baseURI)).then((lab) => lab.receiveLosses(''))"
    )
    expect(page.locator("#lab.stale, #lab .stale")).to_have_count(0)
    expect(page.get_by_label("Objective B", exact=True)).to_have_value("nt_xent")
    expect(line).to_have_text(said)


@pytest.mark.parametrize(
    ("box", "typed", "said"),
    [
        ("margin", "-1", "Margin: -1 cannot be used; give a number from 0 to 2."),
        ("temperature", "0", "Temperature: 0 cannot be used; give a number above 0."),
        ("temperature", "warm", "Temperature: warm cannot be used; give a number above 0."),
        ("ratio", "", "Ratio: nothing cannot be used; give a number from 0."),
        ("size", "11", "Step size: 11 cannot be used; give a number above 0, up to 10."),
    ],
)
def test_a_number_out_of_range_is_said_in_a_sentence(
    page: Page, box: str, typed: str, said: str
) -> None:
    line = page.locator("#lab .verdict-line.second")
    before = line.inner_text()
    page.locator(f"#lab-{box}").fill(typed)
    expect(page.locator("#lab .problem")).to_have_text(said)
    expect(line).to_have_text(before)
    page.locator(f"#lab-{box}").blur()
    expect(page.locator("#lab .problem")).to_be_hidden()


@pytest.mark.parametrize(
    ("box", "typed", "said"),
    [
        ("Positives, one a line", "one\ntwo", "12 anchors and 2 positives"),
        ("Anchors, one sentence a line", "one", "Give 2 to 32 sentences"),
        ("Seed of the dropout", "1.5", "give a whole number"),
        ("Seed of the dropout", "-1", "give a whole number"),
    ],
)
def test_a_batch_that_cannot_be_used_is_said_and_the_old_one_stays(
    page: Page, box: str, typed: str, said: str
) -> None:
    editor = page.locator("#lab .editor")
    if editor.get_attribute("open") is None:
        editor.locator("summary").click()
    field = page.get_by_label(box, exact=True)
    kept = field.input_value()
    field.fill(typed)
    page.get_by_role("button", name="Encode this batch").click()
    expect(page.get_by_role("alert").filter(has_text=said)).to_be_visible()
    field.fill(kept)
    expect(page.locator("#lab .sentence")).to_have_count(12)
    expect(page.locator("#lab .stale")).to_have_count(0)


def test_a_state_that_was_kept_is_shown_again(lab: Visit, page: Page) -> None:
    page.locator("#lab-margin").fill("0.5")
    page.get_by_label("Objective A", exact=True).select_option("mpt")
    page.locator("#lab .sentence").nth(3).click()
    expect(page.locator("#lab .verdict-line.first")).to_contain_text("A mpt ")
    kept = page.evaluate("window.triadLab.state()")
    page.get_by_role("button", name="Back to both encoders").click()
    expect(page.locator("#lab-margin")).to_have_value("0.3")
    page.evaluate("(kept) => window.triadLab.restore(kept)", kept)
    expect(page.locator("#lab-margin")).to_have_value("0.5")
    expect(page.locator("#lab .verdict-line.first")).to_contain_text("A mpt ")
    assert page.evaluate("window.triadLab.state()") == kept
    batch = {"anchors": ["a dog", "a cat", "a hen"], "positives": None, "seed": 1}
    page.evaluate("(kept) => window.triadLab.restore(kept)", {**kept, "anchor": 2, "batch": batch})
    expect(page.locator("#lab .sentence")).to_have_count(3)
    assert page.evaluate("window.triadLab.state()") == {**kept, "anchor": 2, "batch": batch}
    assert not lab.problems
