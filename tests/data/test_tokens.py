"""Sentences as token ids in two files, mapped into memory."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.tokens import TokenArrays
from pipeline.machine.errors import InputError

SENTENCES = [[2, 9, 3], [], [2, 7, 8, 9, 3], [2, 3]]
AGAIN = r"; run `python -m pipeline\.prepare` again\."


def lists(arrays: TokenArrays) -> list[list[int]]:
    return [arrays[index].tolist() for index in range(len(arrays))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    TokenArrays.of(SENTENCES, vocabulary=10).save(tmp_path)
    return tmp_path


@given(
    sentences=st.lists(st.lists(st.integers(0, 99_999))),
    vocabulary=st.sampled_from([100_000, 1 << 20]),
)
def test_sentences_come_back_as_they_were_saved(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[int]], vocabulary: int
) -> None:
    folder = tmp_path_factory.mktemp("tokens")
    TokenArrays.of(sentences, vocabulary=vocabulary).save(folder)
    arrays = TokenArrays.load(folder)
    assert lists(arrays) == sentences
    assert arrays.lengths.tolist() == [len(sentence) for sentence in sentences]


@pytest.mark.parametrize(
    ("vocabulary", "kind"), [(2, np.uint16), (1 << 16, np.uint16), ((1 << 16) + 1, np.int32)]
)
def test_ids_are_as_small_as_the_vocabulary_allows(
    vocabulary: int, kind: type, tmp_path: Path
) -> None:
    TokenArrays.of([[0, vocabulary - 1]], vocabulary=vocabulary).save(tmp_path)
    arrays = TokenArrays.load(tmp_path)
    assert arrays.ids.dtype == kind
    assert arrays[0].tolist() == [0, vocabulary - 1]


def test_what_is_loaded_is_mapped_and_read_only(folder: Path) -> None:
    arrays = TokenArrays.load(folder)
    assert isinstance(arrays.ids.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        arrays[0][0] = 1


@pytest.mark.parametrize("name", ["ids.npy", "offsets.npy"])
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name}: does not exist{AGAIN}"):
        TokenArrays.load(folder)


@pytest.mark.parametrize("name", ["ids.npy", "offsets.npy"])
@pytest.mark.parametrize("kept", [0, 5, 100, -1])
def test_a_file_cut_short_is_named(name: str, kept: int, folder: Path) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match=f"{name}: is damaged or cut short{AGAIN}"):
        TokenArrays.load(folder)
