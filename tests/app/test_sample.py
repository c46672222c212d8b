"""The graded captions as the page shows them."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from app import sample


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """What is read is kept, which a test with another file must not leave behind."""
    yield
    sample.graded_pairs.cache_clear()
    sample.sentences.cache_clear()


def test_the_test_pairs_are_shown() -> None:
    pairs = sample.graded_pairs()
    assert len(pairs) == 375
    assert all(one.first and one.second and 0 <= one.gold <= 5 for one in pairs)
    assert len({one.gold for one in pairs}) > 10


@pytest.mark.parametrize("count", [0, 1, 12, 300])
def test_sentences_are_different_and_spread_over_the_pairs(count: int) -> None:
    everything = list(sample.sentences(10**6))
    assert len(everything) == len(set(everything)) > 300
    found = list(sample.sentences(count))
    places = [everything.index(one) for one in found]
    assert len(found) == count
    assert all(found)
    steps = [after - before for before, after in pairwise(places)]
    assert not steps or max(steps) - min(steps) <= 1


def test_without_the_file_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample.graded_pairs.cache_clear()
    sample.sentences.cache_clear()
    monkeypatch.setattr(sample, "_FILE", tmp_path / "absent.tsv")
    assert (list(sample.graded_pairs()), list(sample.sentences(5))) == ([], [])


def test_every_pair_to_try_is_one_of_the_graded() -> None:
    graded = {(one.first, one.second) for one in sample.graded_pairs()}
    assert len(sample.PROBES) == 12
    kinds = {kind for kind, *_ in sample.PROBES}
    assert kinds == {"paraphrase", "negation", "number", "role", "topic"}
    assert all((first, second) in graded for _, first, second in sample.PROBES)
