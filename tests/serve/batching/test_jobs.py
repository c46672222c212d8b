"""The order of ready texts: batches within the budget, the most urgent text first, no text lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from serve.batching.jobs import TURN, WINDOW, Item, Job, Ready
from tests.serve.fakes import Fake, served
from tests.serve.served import PROPERTY

if TYPE_CHECKING:
    from collections.abc import Iterable

ENCODER = served(Fake())
BUDGET = 64
lengths = st.lists(st.integers(1, 100), min_size=1, max_size=60)


class Text(NamedTuple):
    """A text to be: its number of tokens, its turn, and whether anybody waits for it."""

    tokens: int
    turn: int = 0
    wanted: bool = True


texts = st.lists(
    st.builds(Text, st.integers(1, 100), st.integers(0, 4), st.booleans()), max_size=60
)


def waiting(*, over: bool = False) -> Job:
    loop = asyncio.new_event_loop()
    loop.close()
    job = Job(ENCODER, [], str, True, 0, loop, loop.create_future())
    job.over = over
    return job


def item(tokens: int, *jobs: Job) -> Item:
    made = Item((ENCODER, b""), [7] * tokens)
    made.waiting = [(job, 0) for job in jobs or (waiting(),)]
    return made


def filled(some: Iterable[Text]) -> tuple[Ready, list[Item]]:
    ready, items = Ready(), []
    for number, text in enumerate(some):
        items.append(item(text.tokens, waiting(over=not text.wanted)))
        ready.add(items[-1], text.turn, number)
    return ready, items


def emptied(ready: Ready, budget: int = BUDGET) -> tuple[list[list[Item]], list[Item]]:
    """All batches, and what was forgotten."""
    batches: list[list[Item]] = []
    forgotten: list[Item] = []
    while ready:
        batches.append(ready.take(budget, forgotten.append))
    return [batch for batch in batches if batch], forgotten


def places(some: Iterable[Item]) -> list[int]:
    return sorted(map(id, some))


@PROPERTY
@given(some=texts)
def test_every_wanted_text_is_in_one_batch_and_every_other_forgotten_once(some: list[Text]) -> None:
    ready, items = filled(some)
    batches, forgotten = emptied(ready)
    pairs = list(zip(items, some, strict=True))
    assert places(one for batch in batches for one in batch) == places(
        one for one, text in pairs if text.wanted
    )
    assert places(forgotten) == places(one for one, text in pairs if not text.wanted)
    assert ready.tokens == 0


@PROPERTY
@given(some=texts, budget=st.integers(1, 300))
def test_a_batch_is_within_the_budget_unless_it_is_one_text(some: list[Text], budget: int) -> None:
    for batch in emptied(filled(some)[0], budget)[0]:
        padded = len(batch) * max(len(one.ids) for one in batch)
        assert padded <= budget or len(batch) == 1


@PROPERTY
@given(some=texts)
def test_the_most_urgent_text_is_in_the_next_batch(some: list[Text]) -> None:
    ready, items = filled([text._replace(wanted=True) for text in some])
    turns = [(text.turn, place) for place, text in enumerate(some)]
    order = dict(zip(map(id, items), turns, strict=True))
    while ready:
        urgent = min(order, key=lambda one: order[one])
        assert ready.urgency == order[urgent]
        batch = places(ready.take(BUDGET, lambda _: None))
        assert urgent in batch
        for one in batch:
            del order[one]


@PROPERTY
@given(some=texts, budget=st.integers(1, 300))
def test_the_count_of_tokens_is_that_of_the_texts_that_wait(some: list[Text], budget: int) -> None:
    ready, items = filled(some)
    gone: list[Item] = []
    while ready:
        present = [one for one in items if not one.taken and one not in gone]
        assert ready.tokens == sum(len(one.ids) for one in present)
        ready.take(budget, gone.append)


@PROPERTY
@given(some=lengths)
def test_texts_of_a_batch_are_of_like_length(some: list[int]) -> None:
    """No text outside is between the shortest and the longest inside, as far as lengths decide."""
    ready, items = filled(Text(tokens) for tokens in some)
    batch = ready.take(BUDGET, lambda _: None)
    inside = [len(one.ids) for one in batch]
    outside = [len(one.ids) for one in items if not one.taken]
    assert not [tokens for tokens in outside if min(inside) < tokens < max(inside)]


def test_equal_lengths_fill_a_batch_to_its_budget() -> None:
    ready, _ = filled([Text(8)] * 20)
    assert [len(batch) for batch in emptied(ready)[0]] == [8, 8, 4]


def test_a_text_over_the_budget_is_alone() -> None:
    ready, items = filled([Text(8), Text(BUDGET + 1), Text(8)])
    batches, _ = emptied(ready)
    assert batches == [[items[0], items[2]], [items[1]]]


def test_a_long_list_does_not_hold_up_a_short_one_after_it() -> None:
    """Ten turns wait; a text that comes now is behind the first of them and before the others."""
    ready, _ = filled(Text(BUDGET, place // TURN) for place in range(10 * TURN))
    short = item(BUDGET)
    ready.add(short, 0, 10 * TURN)
    batches, _ = emptied(ready)
    assert batches.index([short]) == TURN


def test_a_text_that_is_wanted_sooner_is_hurried() -> None:
    ready, items = filled([Text(BUDGET, 0), Text(BUDGET, 1), Text(BUDGET, 5)])
    ready.add(items[2], 0, 3)
    assert emptied(ready)[0] == [[items[0]], [items[2]], [items[1]]]
    assert ready.tokens == 0


@PROPERTY
@given(some=texts, data=st.data())
def test_a_hurried_text_is_computed_or_forgotten_once(
    some: list[Text], data: st.DataObject
) -> None:
    ready, items = filled(some)
    for place, one in enumerate(items):
        if one.turn and data.draw(st.booleans()):
            ready.add(one, data.draw(st.integers(0, one.turn - 1)), len(items) + place)
    batches, forgotten = emptied(ready)
    computed = [one for batch in batches for one in batch]
    assert places(computed + forgotten) == places(items)
    assert ready.tokens == 0


def test_a_text_is_wanted_while_one_of_its_requests_is() -> None:
    over, going = waiting(over=True), waiting()
    ready = Ready()
    ready.add(item(4, over, going), 0, 0)
    ready.add(item(4, over, over), 0, 1)
    batches, forgotten = emptied(ready)
    assert ([len(batch) for batch in batches], len(forgotten)) == ([1], 1)


def test_an_unwanted_text_is_never_the_reason_for_a_batch() -> None:
    ready, items = filled([Text(9, 0, wanted=False), Text(4, 1), Text(9, 2)])
    assert items[1] in ready.take(9, lambda _: None)


def test_more_texts_than_the_window_are_all_computed_in_the_end() -> None:
    ready, items = filled(Text(1 + place % 7) for place in range(2 * WINDOW))
    batches, _ = emptied(ready)
    assert places(one for batch in batches for one in batch) == places(items)
