"""Which texts make a batch: the best there is, by trying all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from serve.batching.grouping import CALL, cheapest_group
from tests.serve.served import PROPERTY

lengths = st.lists(st.integers(1, 100), min_size=1, max_size=40)
budgets = st.integers(1, 600)


def cost(group: list[int]) -> float:
    """Of a batch of texts of these lengths, a token."""
    return (len(group) * max(group) + CALL) / sum(group)


def runs(lengths: list[int], budget: int) -> list[list[int]]:
    """All neighbours in the order of lengths, with the first text, within the budget."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    every = [order[i:j] for i in range(len(order)) for j in range(i + 1, len(order) + 1)]
    return [
        run for run in every if 0 in run and (len(run) == 1 or len(run) * lengths[run[0]] <= budget)
    ]


@PROPERTY
@given(some=lengths, budget=budgets)
def test_no_batch_with_the_first_text_costs_less_a_token(some: list[int], budget: int) -> None:
    group = cheapest_group(some, budget)
    least = min(cost([some[index] for index in run]) for run in runs(some, budget))
    assert 0 in group
    assert len(set(group)) == len(group)
    assert abs(cost([some[index] for index in group]) - least) < 1e-12


@PROPERTY
@given(some=lengths, budget=budgets)
def test_it_is_within_the_budget_unless_it_is_one_text(some: list[int], budget: int) -> None:
    group = cheapest_group(some, budget)
    assert len(group) == 1 or len(group) * max(some[index] for index in group) <= budget


def test_a_text_of_much_other_length_waits_for_its_like() -> None:
    assert sorted(cheapest_group([20, 20, 400, 20, 19, 20], 4096)) == [0, 1, 3, 4, 5]
    assert cheapest_group([400, 20, 20], 4096) == [0]


def test_a_short_text_takes_a_few_of_other_length_rather_than_a_call_of_its_own() -> None:
    assert sorted(cheapest_group([20, 18], 4096)) == [0, 1]
