from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.tokens import TokenArrays, id_type
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
    assert id_type(vocabulary) == kind
    TokenArrays.of([[0, vocabulary - 1]], vocabulary=vocabulary).save(tmp_path)
    arrays = TokenArrays.load(tmp_path)
    assert arrays.ids.dtype == kind
    assert arrays[0].tolist() == [0, vocabulary - 1]


def test_what_is_loaded_is_mapped_and_read_only(folder: Path) -> None:
    arrays = TokenArrays.load(folder)
    assert isinstance(arrays.ids.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        arrays[0][0] = 1


def test_no_sentences_are_a_valid_folder(tmp_path: Path) -> None:
    TokenArrays.of([], vocabulary=10).save(tmp_path)
    arrays = TokenArrays.load(tmp_path)
    assert len(arrays) == 0
    assert arrays.lengths.tolist() == []
    with pytest.raises(IndexError, match="sentence 0 of 0"):
        arrays[0]


def test_indices_count_from_both_ends_and_stop_there(folder: Path) -> None:
    arrays = TokenArrays.load(folder)
    assert [arrays[-index].tolist() for index in (1, 2, 3, 4)] == SENTENCES[::-1]
    for index in (4, -5):
        with pytest.raises(IndexError, match=f"sentence {index} of 4"):
            arrays[index]


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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ids.npy", np.zeros(9, np.uint16), "offsets go from 0 to 10, but ids from 0 to 9"),
        ("ids.npy", np.zeros(10), r"ids must be one row of uint16 or int32, not float64"),
        ("ids.npy", np.zeros((10, 1), np.int32), r"not int32 of shape \(10, 1\)"),
        ("offsets.npy", np.array([1, 10]), "offsets go from 1 to 10"),
        ("offsets.npy", np.array([0, 8, 3, 10]), "offsets fall somewhere"),
        ("offsets.npy", np.array([0, 10], np.int32), "offsets must be one row of int64, not int32"),
        ("offsets.npy", np.zeros(0, np.int64), r"not int64 of shape \(0,\)"),
    ],
)
def test_files_at_odds_are_refused(
    name: str, content: np.ndarray[Any, Any], message: str, folder: Path
) -> None:
    np.save(folder / name, content)
    with pytest.raises(InputError, match=f"{message}.*{AGAIN}"):
        TokenArrays.load(folder)
