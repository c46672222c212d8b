"""What all tabs share: the service, the two chosen encoders, and how failures are told.

Not here: what a tab shows (tabs/), the page around them (page.py).
"""

import html
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from app.client import ApiError, Card, Client
from app.pair_table import TableError
from app.statistics import Values, percentiles

Handler = Callable[..., Sequence[Any]]


# Begins what may be wider than the screen, and can be scrolled with the keyboard.
SCROLL = '<div class="scroll" tabindex="0">'
_VISITORS = 1000  # whose newest call is kept in mind


class InputError(ValueError):
    """What a person gave cannot be used; the message says what to do."""


@dataclass(frozen=True)
class Shared:
    """The parts of the page that every tab reads: A is the first encoder, B the second.

    Attributes:
        api: the service.
        first: the choice of encoder A.
        second: the choice of encoder B.
        key: the API key, empty where none is wanted.
        timer: looks for the service while it is down.
    """

    api: Client
    first: gr.Dropdown
    second: gr.Dropdown
    key: gr.Textbox
    timer: gr.Timer

    @property
    def chosen(self) -> list[Any]:
        """The inputs of every handler: both encoders and the key."""
        return [self.first, self.second, self.key]

    def guarded(
        self, handler: Handler, inputs: Sequence[Any], notice: gr.HTML, outputs: Sequence[Any]
    ) -> "Guarded":
        """A handler that takes both encoders and the key before its inputs."""
        return Guarded(handler, [*self.chosen, *inputs], [notice, self.timer, *outputs])


def place_notice() -> gr.HTML:
    """Where a tab says what went wrong; nothing is seen of it while all is well."""
    return gr.HTML(elem_classes="notice")


class Newest:
    """Which of a visitor's calls is the newest: an older one may be answered after it."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str | None, object] = OrderedDict()

    def begin(self, visitor: str | None) -> Callable[[], bool]:
        """Note a call; the answer tells whether the visitor has made no other one since."""
        call = object()
        self._calls.pop(visitor, None)
        self._calls[visitor] = call
        if len(self._calls) > _VISITORS:
            self._calls.popitem(last=False)
        return lambda: self._calls.get(visitor, call) is call


class Guarded:
    """A handler whose failures become a sentence in its tab, and what calls it.

    Its outputs come after the notice and the timer that looks for a service which is down. Of one
    visitor's calls only the newest is shown. A failure empties the texts that an earlier call left:
    old results must not stand under new inputs.
    """

    def __init__(self, handler: Handler, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._handler = handler
        self._inputs = list(inputs)
        self._outputs = list(outputs)
        self._newest = Newest()

    def on(self, trigger: Any, **options: Any) -> Any:
        """Call it on an event; returns the event of its end.

        Gradio's queue may change the order of calls, so that they skip it unless the options say
        otherwise. Gradio's usual mode would drop a call that is made while another one runs.
        """
        usual = {"queue": False, "show_progress": "minimal", "trigger_mode": "multiple"}
        options = usual | options
        return trigger(
            self._run(), self._inputs, self._outputs, api_visibility="private", **options
        )

    def call(self, visitor: str | None, *inputs: Any) -> tuple[Any, ...]:
        """The handler's outputs, without exceptions; nothing if the visitor has called again."""
        newest = self._newest.begin(visitor)
        outputs = self._attempt(inputs)
        return outputs if newest() else self._unchanged()

    def _attempt(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return "", gr.skip(), *self._handler(*inputs)
        except (ApiError, InputError, TableError) as error:
            down = isinstance(error, ApiError) and error.kind == "down"
            timer = gr.Timer(active=True) if down else gr.skip()
            return alert(str(error)), timer, *map(_emptied, self._outputs[2:])

    def _unchanged(self) -> tuple[Any, ...]:
        return tuple(gr.skip() for _ in self._outputs)

    def _run(self) -> Handler:
        def run(request: gr.Request, *inputs: Any) -> tuple[Any, ...]:
            return self.call(request.session_hash, *inputs)

        # Gradio gives the request and the progress to those whose signature asks for them.
        annotation = inspect.signature(run).parameters["request"]
        own = inspect.signature(self._handler).parameters.values()
        run.__signature__ = inspect.Signature([annotation, *own])  # type: ignore[attr-defined]
        return run


def _emptied(output: Any) -> Any:
    if isinstance(output, gr.DownloadButton):
        return gr.DownloadButton(visible=False)
    return "" if isinstance(output, gr.HTML) else gr.skip()


def alert(message: str) -> str:
    """A sentence about what went wrong, as HTML that screen readers speak at once."""
    return f'<p class="alert" role="alert">{html.escape(message)}</p>'


def check_chosen(first: str | None, second: str | None) -> tuple[str, str]:
    """Both encoders' ids.

    Raises:
        InputError: one is not chosen.
    """
    if not first or not second:
        raise InputError("Choose two encoders above; the list is empty until the service is there.")
    return first, second


def read_lines(text: str, most: int, least: int = 1) -> list[str]:
    """The sentences of a box, one a line, without blank ones.

    Raises:
        InputError: fewer or more than is allowed.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not least <= len(lines) <= most:
        raise InputError(
            f"Give {least} to {most:,} sentences, one a line; there are {len(lines):,}."
        )
    return lines


def cut_note(truncated: Sequence[str], model: str, length: int) -> str:
    """What was cut, as a sentence of HTML; empty if nothing was."""
    if not truncated:
        return ""
    what = "1 text was" if len(truncated) == 1 else f"{len(truncated):,} texts were"
    name = html.escape(model)
    return f'<p class="note">{what} longer than {length} tokens and cut for {name}.</p>'


def html_table(headings: Sequence[str], rows: str, caption: str = "") -> str:
    """A table that scrolls within the page; all of it is HTML already."""
    heads = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    head = f"<thead><tr>{heads}</tr></thead>"
    return f"{SCROLL}<table>{caption}{head}<tbody>{rows}</tbody></table></div>"


def graded_places(cards: Mapping[str, Card], name: str, cosines: Values) -> Values:
    """Percent of an encoder's own graded pairs below each cosine; of these ones if it has none."""
    return percentiles(cosines, cards.get(name, {}).get("cosine_quantiles"))


def is_graded(cards: Mapping[str, Card], name: str) -> bool:
    """Whether an encoder has graded pairs of its own."""
    return bool(cards.get(name, {}).get("cosine_quantiles"))


def ungraded_notes(cards: Mapping[str, Card], names: Sequence[str]) -> str:
    """A sentence of HTML for each encoder whose percentages are not of graded pairs."""
    return "".join(
        f'<p class="note">{html.escape(name)} was not measured on graded pairs. Its '
        "percentages say how many of the cosines shown here are lower; a single pair has none.</p>"
        for name in dict.fromkeys(names)
        if not is_graded(cards, name)
    )


NAMES = {
    "info_nce": "InfoNCE",
    "arccon": "ArcCon",
    "mpt": "MPT",
    "met": "MET",
    "mhe": "MHE (alignment + uniformity)",
    "mhs": "MHS (alignment + uniformity)",
    "barlow_twins": "Barlow Twins",
    "vicreg": "VICReg",
}


def in_words(card: Mapping[str, Any]) -> str:
    """An encoder's objective and seed: `VICReg, modified, seed 42`; its id where none is known."""
    objective = card.get("objective")
    if not objective:
        return str(card.get("id", "another encoder"))
    base = next((name for name in NAMES if f"{objective}_".startswith(f"{name}_")), objective)
    rest = str(objective)[len(base) :].strip("_").replace("_", " ")
    parts = [
        NAMES.get(base, base),
        rest,
        "" if card.get("seed") is None else f"seed {card['seed']}",
    ]
    return ", ".join(part for part in parts if part)


def lettered(cards: Mapping[str, Card], names: Sequence[str]) -> list[str]:
    """`A: VICReg, seed 42` and `B: ...` for both encoders, as HTML."""
    return [
        f"<b>{letter}</b> {html.escape(in_words(cards.get(name, {'id': name})))}"
        for letter, name in zip("AB", names, strict=True)
    ]
