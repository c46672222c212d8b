"""Token arrays: many sentences as one flat array of token ids and where each sentence starts.

Two files a folder, `ids.npy` and `offsets.npy`, memory-mapped when loaded, so that a million
sentences cost no memory until they are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pipeline.machine.errors import InputError

Ids = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class TokenArrays:
    """Sentences as token ids; sentence i is `ids[offsets[i]:offsets[i + 1]]`.

    Attributes:
        ids: (tokens,) uint16 or int32.
        offsets: (sentences + 1,) int64, from 0 to the number of tokens, never falling.
    """

    ids: Ids
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]], *, vocabulary: int) -> Self:
        """Pack sentences of token ids, each id in [0, vocabulary), as small as that allows."""
        kind = np.uint16 if vocabulary <= 1 << 16 else np.int32
        offsets = _offsets(np.array([len(row) for row in sentences], np.int64))
        flat = (token for row in sentences for token in row)
        return cls(np.fromiter(flat, kind, int(offsets[-1])), offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join parts (at least one) in their order."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.ids for part in parts]), _offsets(lengths))

    def where(self, keep: npt.NDArray[np.bool_]) -> Self:
        """The sentences whose entry in keep, (sentences,), is true; their order stays."""
        lengths = self.lengths
        return type(self)(self.ids[np.repeat(keep, lengths)], _offsets(lengths[keep]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Ids:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each sentence, (sentences,)."""
        return np.diff(self.offsets)

    def save(self, folder: Path) -> None:
        """Write `ids.npy` and `offsets.npy` into a folder, made if it is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "ids.npy", self.ids, allow_pickle=False)
        np.save(folder / "offsets.npy", self.offsets, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Map a saved folder into memory, read-only.

        Raises:
            InputError: If a file is missing or cut short.
        """
        return cls(_map(folder / "ids.npy"), _map(folder / "offsets.npy"))


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _map(path: Path) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        missing = isinstance(error, FileNotFoundError)
        what = "does not exist" if missing else "is damaged or cut short"
        raise InputError(f"{path}: {what}; run `python -m pipeline.prepare` again.") from error
    return np.asarray(array)  # the same mapping without the slow subclass
