"""Which sentences make a step, and their padded tensors."""

from itertools import islice
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.tokens import TokenArrays
from pipeline.training.batches import ResidentTokens, batch_indices, collator, two_views
from tests.training.waiting import nothing_waits

SIZES = st.tuples(st.integers(1, 40), st.integers(1, 9)).filter(lambda pair: pair[0] >= pair[1])


def steps(count: int, batch_size: int, seed: int, number: int, start: int = 0) -> list[list[int]]:
    return [b.tolist() for b in islice(batch_indices(count, batch_size, seed, start), number)]


@given(sizes=SIZES, seed=st.integers(0, 2**31))
def test_an_epoch_sees_every_sentence_at_most_once_and_none_twice(
    sizes: tuple[int, int], seed: int
) -> None:
    count, batch_size = sizes
    per_epoch = count // batch_size
    for epoch in range(3):
        batches = steps(count, batch_size, seed, per_epoch, epoch * per_epoch)
        seen = [index for batch in batches for index in batch]
        assert len(seen) == len(set(seen)) == per_epoch * batch_size
        assert set(seen) <= set(range(count))


def test_what_one_epoch_leaves_out_another_sees() -> None:
    seen = {index for batch in steps(11, 4, 7, 40) for index in batch}
    assert seen == set(range(11))


@given(sizes=SIZES, seed=st.integers(0, 99), start=st.integers(0, 60))
def test_any_step_can_be_begun_with(sizes: tuple[int, int], seed: int, start: int) -> None:
    whole = steps(*sizes, seed, start + 5)
    assert steps(*sizes, seed, 5, start) == whole[start:]


def test_seeds_and_epochs_differ() -> None:
    first, second = steps(40, 40, 1, 2)
    (other,) = steps(40, 40, 2, 1)
    assert first != second
    assert first != other


def test_the_two_views_are_the_same_rows_twice_padded_with_the_given_id() -> None:
    tokens = TokenArrays.of([[2, 5, 3], [2, 3], [2, 7, 8, 9, 3]], vocabulary=10)
    ids, mask = two_views(tokens, np.array([1, 0]), pad_id=4)
    assert ids.tolist() == [[2, 3, 4], [2, 5, 3]] * 2
    assert mask.tolist() == [[1, 1, 0], [1, 1, 1]] * 2


class TestInADevicesMemory:
    """Shown on a CPU, whose own batches come from memory-mapped files."""

    LENGTHS: ClassVar[list[int]] = [1, 3, 8, 9, 12, 2]
    LONGEST = 12

    def tokens(self) -> TokenArrays:
        rows = [[10 * place + k for k in range(n)] for place, n in enumerate(self.LENGTHS)]
        return TokenArrays.of(rows, vocabulary=100)

    def collate(self, *indices: int) -> tuple[torch.Tensor, torch.Tensor]:
        resident = ResidentTokens(self.tokens(), 7, self.LONGEST, torch.device("cpu"))
        return resident.two_views(np.array(indices))

    @pytest.mark.parametrize(
        ("indices", "width"),
        [((0, 1), 8), ((5, 2, 0), 8), ((2,), 8), ((3,), LONGEST), ((4, 3, 2, 1, 0), LONGEST)],
    )
    def test_a_batch_is_the_files_padded_to_one_of_few_widths(
        self, indices: tuple[int, ...], width: int
    ) -> None:
        """8, twice that and so on, and the maximum length."""
        ids, mask = self.collate(*indices)
        assert ids.shape == mask.shape == (2 * len(indices), width)
        expected_ids, expected_mask = two_views(self.tokens(), np.array(indices), 7)
        files = expected_ids.shape[1]
        assert torch.equal(ids[:, :files], expected_ids)
        assert torch.equal(mask[:, :files], expected_mask)
        assert (ids[:, files:] == 7).all()
        assert not mask[:, files:].any()

    def test_cutting_waits_for_nothing(self) -> None:
        resident = ResidentTokens(self.tokens(), 7, self.LONGEST, torch.device("cpu"))
        with nothing_waits():
            resident.two_views(np.array([1, 2]))

    def test_a_cpu_reads_the_files_and_others_their_own_memory(self) -> None:
        collate = collator(self.tokens(), 7, self.LONGEST, torch.device("cpu"))
        assert collate(np.array([0, 1]))[0].shape == (4, 3)
        collate = collator(self.tokens(), 7, self.LONGEST, torch.device("meta"))
        ids, _ = collate(np.array([0, 1]))
        assert (ids.shape, ids.device.type) == ((4, 8), "meta")
