"""What is said about a prepared corpus: the stage's report and the folder's `meta.json`."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from pipeline.machine.errors import InputError

_BIN, _LAST_BIN = 8, 128  # tokens: width of the histogram's bins, and where the open one starts


@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of the corpus. Lengths are tokens, special ones included, before truncation."""

    source: str
    data_hash: str  # of the kept sentences and all that decides what is made of them
    rows_in: int
    rows_kept: int  # distinct sentences that are not empty
    empty: int
    duplicates: int
    train: int  # sentences
    held_out: int  # sentences
    share_truncated: float  # of the kept sentences
    tokens: int  # stored, after truncation
    mean_length: float
    length_histogram: list[dict[str, str | int]]


@dataclass(frozen=True, kw_only=True)
class Meta:
    """What a prepared folder holds, `meta.json`."""

    backbone: str  # as it was named
    tokenizer_hash: str  # of the backbone's tokenizer
    vocabulary: int  # every token id is below it
    pad_id: int
    max_length: int  # tokens
    data_hash: str  # as in the report
    source: str
    train: int  # sentences in train/
    held_out: int  # sentences in held_out/

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read `meta.json` of a prepared folder.

        Raises:
            InputError: If there is none or it is not of this version.
        """
        try:
            return cls(**json.loads((folder / "meta.json").read_text(encoding="utf-8")))
        except (OSError, TypeError, ValueError) as error:
            raise InputError(
                f"{folder}: meta.json is missing or not of this version ({error}); "
                "run `python -m pipeline.prepare` again."
            ) from error


def histogram(lengths: npt.NDArray[np.int64]) -> list[dict[str, str | int]]:
    """Lengths counted in bins of one width, the last one open: `{"length": ..., "count": ...}`."""
    counts = np.bincount(
        np.minimum(lengths - 1, _LAST_BIN) // _BIN, minlength=_LAST_BIN // _BIN + 1
    )
    names = [f"{low + 1:03}-{low + _BIN:03}" for low in range(0, _LAST_BIN, _BIN)]
    bins = zip([*names, f"{_LAST_BIN + 1:03}+"], counts.tolist(), strict=True)
    return [{"length": name, "count": count} for name, count in bins]


def as_json(value: Report | Meta) -> bytes:
    """The same bytes for the same value."""
    return f"{json.dumps(asdict(value), indent=2, ensure_ascii=False)}\n".encode()
