"""Handlers of the page: what fails is told, and only a visitor's newest call is shown."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr
import pytest

from app.shared import Guarded, InputError, Shown


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


@pytest.mark.parametrize(
    ("shown", "first", "second", "called"),
    [
        ("pair", "a", "b", True),
        ("search", "a", "b", False),
        ("pair", None, "b", False),
        ("pair", "a", "", False),
    ],
)
def test_a_tab_follows_the_page_while_it_is_shown_and_both_encoders_are_chosen(
    shown: str, first: str | None, second: str | None, *, called: bool
) -> None:
    calls: list[tuple[Any, ...]] = []

    def note(*inputs: Any) -> Sequence[Any]:
        calls.append(inputs)
        return ["drawn"]

    handlers: list[Callable[..., tuple[Any, ...]]] = []
    guarded(note).on(
        lambda run, inputs, outputs, **options: handlers.append(run),
        Shown(gr.State("pair"), "pair"),
    )
    request = gr.Request(session_hash="ann")
    result = handlers[0](request, shown, first, second)
    assert result == (("", gr.skip(), "drawn") if called else (gr.skip(),) * 3)
    assert calls == ([(first, second)] if called else [])
