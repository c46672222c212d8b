"""Token arrays: many sentences as one flat array of token ids and where each sentence starts.

Two files a folder, `ids.npy` and `offsets.npy`, memory-mapped when loaded, so that a million
sentences cost no memory until they are read. Not here: tokenizing (prepare.py), padding and
batches (batches.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Ids = npt.NDArray[np.integer[Any]]

_ID_TYPES = (np.dtype(np.uint16), np.dtype(np.int32))


def id_type(vocabulary: int) -> np.dtype[Any]:
    """The smallest type of `ids.npy` that holds every id of a vocabulary of this size."""
    return np.dtype(np.uint16) if vocabulary <= 1 << 16 else np.dtype(np.int32)


@dataclass(frozen=True, eq=False)
class TokenArrays:
    """Sentences as token ids; sentence i is `ids[offsets[i]:offsets[i + 1]]`.

    Attributes:
        ids: (tokens,) uint16 or int32.
        offsets: (sentences + 1,) int64, from 0 to the number of tokens, never falling.
    """

    ids: Ids
    offsets: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        fault = _fault(self.ids, self.offsets)
        if fault:
            raise InputError(f"token arrays: {fault}.")

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]], *, vocabulary: int) -> TokenArrays:
        """Pack sentences of token ids, each id in [0, vocabulary)."""
        rows = list(sentences)
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        flat = (token for row in rows for token in row)
        return cls(np.fromiter(flat, id_type(vocabulary), int(offsets[-1])), offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[TokenArrays]) -> TokenArrays:
        """Join parts (at least one) in their order."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.ids for part in parts]), _offsets(lengths))

    def where(self, keep: npt.NDArray[np.bool_]) -> TokenArrays:
        """The sentences whose entry in keep, (sentences,), is true; their order stays."""
        lengths = self.lengths
        return TokenArrays(self.ids[np.repeat(keep, lengths)], _offsets(lengths[keep]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Ids:
        if not -len(self) <= index < len(self):
            raise IndexError(f"sentence {index} of {len(self)}")
        start, end = self.offsets[index % len(self) :][:2]
        return self.ids[start:end]

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
    def load(cls, folder: Path) -> TokenArrays:
        """Map a saved folder into memory, read-only.

        Raises:
            InputError: If a file is missing, cut short, or at odds with the other one.
        """
        ids, offsets = _map(folder, "ids.npy"), _map(folder, "offsets.npy")
        fault = _fault(ids, offsets)
        if fault:
            raise InputError(f"{folder}: {fault}; run `python -m pipeline.prepare` again.")
        return cls(ids, offsets)


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _map(folder: Path, name: str) -> npt.NDArray[Any]:
    path = folder / name
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        missing = isinstance(error, FileNotFoundError)
        what = "does not exist" if missing else "is damaged or cut short"
        raise InputError(f"{path}: {what}; run `python -m pipeline.prepare` again.") from error
    return np.asarray(array)  # the same mapping without the slow subclass


def _fault(ids: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> str:
    """What makes two arrays no token arrays; empty if nothing does."""
    if ids.ndim != 1 or ids.dtype not in _ID_TYPES:
        return f"ids must be one row of uint16 or int32, not {ids.dtype} of shape {ids.shape}"
    if offsets.ndim != 1 or offsets.dtype != np.int64 or not len(offsets):
        return f"offsets must be one row of int64, not {offsets.dtype} of shape {offsets.shape}"
    if offsets[0] != 0 or offsets[-1] != len(ids):
        return f"offsets go from {offsets[0]} to {offsets[-1]}, but ids from 0 to {len(ids)}"
    if (np.diff(offsets) < 0).any():
        return "offsets fall somewhere, but sentences follow one another"
    return ""
