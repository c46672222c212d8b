"""Pairs on which encoders disagree: the farthest apart, in both directions, no sentence twice."""

from hypothesis import given
from hypothesis import strategies as st

from app.disagreement import most_disputed
from tests.app.properties import PROPERTY

Judged = tuple[str, str, float, float]
names = st.integers(0, 30).map(str)
percents = st.integers(0, 100).map(float)
judged = st.lists(st.tuples(names, names, percents, percents), max_size=40)


def found(some: list[Judged], count: int) -> list[int]:
    pairs = [(first, second) for first, second, _, _ in some]
    return most_disputed(pairs, [one[2] for one in some], [one[3] for one in some], count)


def gap(one: Judged) -> float:
    return one[2] - one[3]


@PROPERTY
@given(some=judged, count=st.integers(0, 10))
def test_no_sentence_is_twice_and_gaps_fall_in_each_direction(
    some: list[Judged], count: int
) -> None:
    chosen = found(some, count)
    assert len(chosen) <= count
    sentences = [sentence for index in chosen for sentence in set(some[index][:2])]
    assert len(sentences) == len(set(sentences))
    gaps = [gap(some[index]) for index in chosen]
    assert 0 not in gaps
    for direction in ([one for one in gaps if one > 0], [-one for one in gaps if one < 0]):
        assert direction == sorted(direction, reverse=True)


@PROPERTY
@given(some=judged)
def test_what_is_left_out_shares_a_sentence_or_is_not_disputed(some: list[Judged]) -> None:
    chosen = found(some, len(some))
    used = {sentence for index in chosen for sentence in some[index][:2]}
    for index, one in enumerate(some):
        assert index in chosen or gap(one) == 0 or used & set(one[:2])


def test_directions_take_turns_as_long_as_both_have_pairs() -> None:
    some = [
        (f"{place}a", f"{place}b", 50 + apart, 50.0)
        for place, apart in enumerate([10.0, 40.0, -5.0, 30.0, -20.0, 20.0])
    ]
    assert found(some, 6) == [1, 4, 3, 2, 5, 0]
    assert found(some, 3) == [1, 4, 3]
