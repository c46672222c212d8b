"""What has no result is run, once; what is cut off is run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.grid_search.completion import complete
from pipeline.grid_search.outcomes import Outcome, State
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from pipeline.grid_search.outcomes import Outcomes

from tests.grid_search.fakes import Fake, by_size, finished

CELLS = {"a": ["x=1"], "b": ["x=2"]}


def ignore(outcomes: Outcomes) -> None:
    pass


def test_finished_cells_are_not_run_again() -> None:
    fake = Fake(by_size)
    first = complete(CELLS, fake, ignore)
    assert fake.queued == ["a", "b"]
    assert fake.overrides == CELLS
    assert complete(CELLS, fake, ignore) == first
    assert fake.queued == ["a", "b"]


@pytest.mark.parametrize("state", [State.QUEUED, State.RUNNING])
def test_a_cell_of_an_earlier_call_is_waited_for(state: State) -> None:
    fake = Fake(by_size)
    fake.outcomes["a"] = Outcome(state)
    assert complete(CELLS, fake, ignore)["a"] == finished(70.0)
    assert fake.queued == ["b"]


@pytest.mark.parametrize("state", [State.FAILED, State.CUT_OFF])
def test_a_cell_that_failed_or_was_cut_off_before_is_queued_again(state: State) -> None:
    fake = Fake(by_size)
    fake.outcomes = {"a": finished(70.0), "b": Outcome(state)}
    assert complete(CELLS, fake, ignore)["b"] == finished(70.0)
    assert (fake.removed, fake.queued) == (["b"], ["b"])


def test_cells_that_failed_before_can_be_kept() -> None:
    fake = Fake(by_size)
    fake.outcomes = {"a": Outcome(State.FAILED, reason="no"), "b": Outcome(State.CUT_OFF)}
    assert complete(CELLS, fake, ignore, keep_failed=True)["a"].state is State.FAILED
    assert fake.queued == ["b"]


def test_a_cell_that_fails_is_not_tried_twice_in_one_call() -> None:
    fake = Fake(lambda name: Outcome(State.FAILED, reason="it collapsed"))
    assert complete(CELLS, fake, ignore)["a"].reason == "it collapsed"
    assert fake.queued == ["a", "b"]


def test_a_cell_that_is_cut_off_meanwhile_is_queued_again_once() -> None:
    """As when its worker was killed; a second time it is told."""
    ends = iter([Outcome(State.CUT_OFF), finished(70.0), finished(71.0)])
    fake = Fake(lambda name: next(ends))
    outcomes = complete(CELLS, fake, ignore)
    assert {outcome.state for outcome in outcomes.values()} == {State.FINISHED}
    assert fake.queued == ["a", "b", "a"]
    fake = Fake(lambda name: Outcome(State.CUT_OFF))
    with pytest.raises(InputError, match="2 of 2 cells were cut off twice, first a"):
        complete(CELLS, fake, ignore)
    assert fake.queued == ["a", "b", "a", "b"]


def test_ctrl_c_stops_what_runs_and_keeps_the_queue() -> None:
    def interrupt(name: str) -> Outcome:
        raise KeyboardInterrupt

    fake = Fake(interrupt)
    with pytest.raises(KeyboardInterrupt):
        complete(CELLS, fake, ignore)
    assert fake.stopped == ["a", "b"]
    fake.result = by_size
    complete(CELLS, fake, ignore)
    assert fake.queued == ["a", "b"]
