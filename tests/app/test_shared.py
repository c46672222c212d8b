"""Handlers of the page: what fails is told, and only a visitor's newest call is shown."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr
import pytest

from app.shared import Guarded, InputError, in_words


def guarded(handler: Callable[..., Sequence[Any]]) -> Guarded:
    return Guarded(handler, [], ["notice", "timer", "result"])


def test_a_handlers_outputs_follow_an_empty_notice() -> None:
    assert guarded(lambda text: [text.upper()]).call("ann", "a") == ("", gr.skip(), "A")


def test_what_cannot_be_used_is_told_and_nothing_else_changes() -> None:
    def refuse() -> Sequence[Any]:
        raise InputError("Give <two> sentences.")

    notice, *others = guarded(refuse).call("ann")
    assert "Give &lt;two&gt; sentences." in notice
    assert others == [gr.skip()] * 2


@pytest.mark.parametrize(("other", "shown"), [("ann", False), ("bob", True)])
def test_an_older_answer_does_not_replace_a_newer_one_of_the_same_visitor(
    other: str, *, shown: bool
) -> None:
    begun, answered = threading.Event(), threading.Event()
    answers: list[tuple[Any, ...]] = []

    def slow(text: str) -> Sequence[Any]:
        if text == "first":
            begun.set()
            assert answered.wait(10)
        return [text]

    both = guarded(slow)
    older = threading.Thread(target=lambda: answers.append(both.call("ann", "first")))
    older.start()
    assert begun.wait(10)
    assert both.call(other, "second") == ("", gr.skip(), "second")
    answered.set()
    older.join()
    assert answers == [("", gr.skip(), "first") if shown else (gr.skip(),) * 3]


def test_a_failure_empties_what_an_earlier_call_left() -> None:
    def refuse() -> Sequence[Any]:
        raise InputError("Write two sentences.")

    handler = Guarded(refuse, [], ["notice", "timer", gr.HTML(), gr.DownloadButton(), "box"])
    _, _, result, download, box = handler.call("ann")
    assert result == ""
    assert not download.visible
    assert box == gr.skip()


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("vicreg_modified", "VICReg, modified, seed 42"),
        ("info_nce", "InfoNCE, seed 42"),
        ("vicreg_dissipation_weight", "VICReg, dissipation weight, seed 42"),
        ("another", "another, seed 42"),
        (None, "x"),
    ],
)
def test_an_encoder_is_told_in_words_or_by_its_id(objective: str | None, words: str) -> None:
    assert in_words({"id": "x", "objective": objective, "seed": 42}) == words
