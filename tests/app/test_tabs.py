"""What tabs say of the numbers that they show, asked of a stand-in for the service."""

import asyncio
from collections.abc import Callable
from typing import Any

import gradio as gr
import httpx
import pytest

from app.shared import Guarded, Shared
from app.tabs.matrix import MatrixTab
from app.tabs.pair import PairTab
from app.tabs.pairs import PairsTab
from tests.app.service import Service, api

GRADED, UNGRADED = "vicreg-42", "minilm"
CARDS = [
    {"id": GRADED, "max_length": 32, "cosine_quantiles": [0.0, 0.5, 1.0]},
    {"id": UNGRADED, "max_length": 64, "cosine_quantiles": None},
]
NOTE = (
    "{} was not measured on graded pairs. Its percentages say how many of the cosines shown here "
    "are lower; a single pair has none."
)
INPUTS: dict[Callable[[Shared], Guarded], tuple[str, ...]] = {
    lambda shared: PairTab(shared, gr.HTML()).compared: ("long a", "b"),
    lambda shared: MatrixTab(shared).shown: ("long a\nb\nc",),
    lambda shared: PairsTab(shared).shown: ("long a\tb\t1\nc\td\t3",),
}


def answer(request: httpx.Request) -> httpx.Response:
    """As a service of two encoders, one of which was measured."""
    routes = {"/v1/models": CARDS, "/v1/tokenize": [{"tokens": ["[CLS]", "a", "[SEP]"]}]}
    if request.url.path in routes:
        return httpx.Response(200, json={"data": routes[request.url.path]})
    return Service()(request)


def shown(make: Callable[[Shared], Guarded], inputs: tuple[str, ...], *names: str) -> str:
    """The HTML of a tab's result."""

    async def build() -> Guarded:  # Gradio wants an event loop
        with gr.Blocks(analytics_enabled=False):
            parts: list[Any] = [gr.Dropdown(), gr.Dropdown(), gr.Textbox(), gr.Timer()]
            return make(Shared(api(answer), *parts))

    notice, _, result, *_ = asyncio.run(build()).call("ann", *names, "", *inputs)
    assert notice == ""
    return str(result)


@pytest.mark.parametrize(("make", "inputs"), INPUTS.items(), ids=["pair", "matrix", "pairs"])
def test_an_encoder_that_was_not_graded_is_said_to_be_none(
    make: Callable[[Shared], Guarded], inputs: tuple[str, ...]
) -> None:
    assert "not measured" not in shown(make, inputs, GRADED, GRADED)
    both = shown(make, inputs, GRADED, UNGRADED)
    assert both.count("not measured") == 1
    assert NOTE.format(UNGRADED) in both
    assert shown(make, inputs, UNGRADED, UNGRADED).count("not measured") == 1


@pytest.mark.parametrize(("make", "inputs"), INPUTS.items(), ids=["pair", "matrix", "pairs"])
def test_a_text_that_was_cut_is_counted_once_for_each_encoder(
    make: Callable[[Shared], Guarded], inputs: tuple[str, ...]
) -> None:
    result = shown(make, inputs, GRADED, UNGRADED)
    assert result.count("1 text was longer than") == 2
    assert f"32 tokens and cut for {GRADED}." in result
