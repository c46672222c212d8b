"""What the page says when something is missing, wrong, too much, or somebody else's."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.serve.e2e.browser.chromium import PHONE, visiting
from tests.serve.e2e.conftest import KEY
from tests.serve.e2e.process import Server, eventually, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

    from tests.serve.e2e.browser.chromium import Visit

NASTY = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> %{x}"


@pytest.fixture(scope="module")
def same_desk(browser: Browser, server: Server) -> Iterator[Visit]:
    """For tests that may come one after another on the same page, as a person's mistakes do."""
    with visiting(browser) as visit:
        visit.open(server.url)
        expect(visit.page.locator("#pair-result .cosine")).to_have_count(2)
        yield visit


@pytest.mark.verify
def test_the_page_waits_for_a_service_that_is_down_and_goes_on_by_itself(
    visitor: Visit, launch: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory
) -> None:
    service, port = str(free_port()), str(free_port())
    command = (sys.executable, "-m", "app", "--api", f"http://127.0.0.1:{service}", "--port", port)
    with Server(tmp_path_factory.mktemp("page"), {"PORT": port}, command) as alone:
        eventually(alone.readiness)  # some answer, as it has no such route
        page = visitor.open(alone.url)
        expect(page.get_by_role("alert").first).to_contain_text("Start it with `make serve`")
        launch({"PORT": service})
        expect(page.locator("#pair-result .cosine")).to_have_count(2)
        expect(page.get_by_role("alert")).to_have_count(0)
        visitor.hold("recovered")


@pytest.mark.verify
def test_with_keys_the_page_asks_for_one_and_forwards_it(browser: Browser, locked: Server) -> None:
    with visiting(browser, PHONE) as visit:
        page = visit.open(locked.url)
        alert, key = page.get_by_role("alert").first, page.get_by_label("API key")
        expect(alert).to_contain_text("API key is missing")
        key.fill("wrong")
        key.press("Enter")
        expect(alert).to_contain_text("API key is not known here")
        key.fill(KEY)
        key.press("Enter")
        expect(page.locator("#pair-result .cosine")).to_have_count(2)
        visit.hold("key")


@pytest.mark.parametrize(
    ("tab", "box", "text", "button", "said"),
    [
        ("Pair", "#a", "", "#run-pair", "one of them is empty"),
        ("Pairs", "#pairs", "", "#run-pairs", "There is no pair"),
        ("Pairs", "#pairs", "a\tb\n" * 2001, "#run-pairs", "2,001"),
        ("Matrix", "#matrix", "one", "#run-matrix", "Give 2 to 40 sentences"),
        ("Matrix", "#matrix", "a\n" * 41, "#run-matrix", "there are 41"),
        ("Search", "#query", "", "#run-search", "the query is empty"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(
    same_desk: Visit, tab: str, box: str, text: str, button: str, said: str
) -> None:
    page = same_desk.page
    same_desk.tab(tab)
    # Set at once, as if it were pasted: typing thousands of lines would take Chromium seconds.
    page.locator(f"{box} textarea, {box} input").first.evaluate(
        "(box, text) => { box.value = text; box.dispatchEvent(new Event('input')); }", text
    )
    page.locator(button).click()
    expect(page.get_by_role("alert").first).to_contain_text(said)


def test_a_bad_row_is_named_and_the_others_are_scored(same_desk: Visit) -> None:
    page = same_desk.page
    same_desk.tab("Pairs")
    lines = ["a dog\ta cat\t3", "alone", "a hen\ta cock\t4", "a sea\ta lake\tmany", "a\tb\t1"]
    page.locator("#pairs textarea").fill("\n".join(lines))
    page.locator("#run-pairs").click()
    for said in ("2 rows were left out", "line 2", "line 4"):
        expect(page.locator("#pairs-result")).to_contain_text(said)
    expect(page.locator("#pairs-table")).to_contain_text("a cock")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pairs.csv", '\ufeff"a ""dog"", old","a cat",3\r\n"a hen","a cock",4\r\n'.encode()),
        pytest.param("pairs.tsv", b"a dog\ta cat\r\na hen\ta cock\r\n", marks=pytest.mark.verify),
        pytest.param("pairs.txt", b"a dog;a cat;2,5\na hen;a cock;1,0\n", marks=pytest.mark.verify),
    ],
)
def test_a_file_is_read_scored_and_deleted(desk: Visit, name: str, content: bytes) -> None:
    page = desk.page
    desk.tab("Pairs")
    page.locator("#pairs-file input[type=file]").set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": content}
    )
    expect(page.locator("#pairs-table")).to_contain_text("a cock")
    assert not list(Path(tempfile.gettempdir(), "gradio").rglob(name))


def test_a_long_sentence_is_cut_and_said_to_be(same_desk: Visit) -> None:
    page = same_desk.page
    same_desk.tab("Pair")
    page.locator("#a textarea").fill("word " * 1000)
    page.locator("#run-pair").click()
    expect(page.locator("#pair-result")).to_contain_text("cut for vicreg-42")


@pytest.mark.verify
def test_two_people_at_once_see_their_own(browser: Browser, server: Server) -> None:
    with visiting(browser) as one, visiting(browser) as other:
        theirs = [(one, "the secret of the one"), (other, "what the other hides")]
        for visit, text in theirs:
            page = visit.open(server.url)
            visit.tab("Pairs")
            page.locator("#pairs textarea").fill(f"{text}\tthe same")
        for visit, _ in theirs:
            visit.page.locator("#run-pairs").click()
        for (visit, text), (_, others) in zip(theirs, reversed(theirs), strict=True):
            expect(visit.page.locator("#pairs-table")).to_contain_text(text)
            assert others not in visit.page.content()


@pytest.mark.verify
def test_a_page_that_is_open_does_not_keep_the_service_from_stopping(
    visitor: Visit, launch: Callable[..., Server]
) -> None:
    server = launch(stop_seconds=600.0)
    page = visitor.open(server.url)
    expect(page.locator("#pair-result .cosine")).to_have_count(2)
    assert server.stop(seconds=30) == 0  # much sooner than after stop_seconds


def test_keyboard_alone_is_enough_to_compare(same_desk: Visit) -> None:
    page = same_desk.page
    same_desk.tab("Pair")
    page.get_by_label("Sentence", exact=True).focus()
    for sentence in ("Snow fell all night.", "It snowed until morning."):
        page.keyboard.press("Control+A")
        page.keyboard.type(sentence)
        page.keyboard.press("Tab")
    expect(page.locator("#run-pair")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("Snow"))
    page.get_by_role("tab", name="Pair", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#pairs")).to_be_visible()


def test_markup_in_a_sentence_is_text_everywhere(desk: Visit) -> None:
    page = desk.page
    page.locator("#a textarea").fill(NASTY)
    page.locator("#run-pair").click()
    expect(page.locator("#pair-result .cosine")).to_have_count(2)
    desk.tab("Pairs")
    page.locator("#pairs textarea").fill(f"{NASTY}\tother\t1\nb\tc\t2\nd\te\t0\n{NASTY}")
    page.locator("#run-pairs").click()
    expect(page.locator("#pairs-table")).to_contain_text("<script>")
    desk.tab("Matrix")
    page.locator("#matrix textarea").fill(f"{NASTY}\nother\nthird")
    page.locator("#run-matrix").click()
    expect(page.locator("#matrix-result ol li")).to_have_count(3)
    desk.tab("Search")
    page.get_by_label("Query").fill(NASTY)
    page.locator("#run-search").click()
    expect(page.locator("#found table")).to_have_count(2)
    desk.tab("Gradient")
    page.locator("#lab .editor summary").click()
    page.get_by_label("Anchors, one sentence a line").fill(f"{NASTY}\nother\nthird")
    page.get_by_role("button", name="Encode this batch").click()
    expect(page.locator("#lab .sentence")).to_have_count(3)
    expect(page.locator("#lab .sentence").first).to_contain_text("<script>")
    assert page.title() != "taken"
    assert page.locator("img[src=x]").count() == 0
    desk.settle()
    assert not desk.problems, "\n".join(desk.problems)
