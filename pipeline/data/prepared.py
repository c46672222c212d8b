"""What is said about a prepared corpus: the stage's report and the folder's `meta.json`.

Not here: the token arrays themselves (tokens.py) and the stage that writes them (prepare.py).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

_BIN, _LAST_BIN = 8, 128  # tokens: width of the histogram's bins, and where the open one starts


@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of the corpus. Lengths are tokens, special ones included, before cutting.

    Attributes:
        source: Where the sentences came from.
        data_hash: SHA-256 of the kept sentences and all that decides what is made of them.
        rows_in: Rows read.
        rows_kept: Distinct sentences that are not empty.
        empty: Rows dropped as empty.
        duplicates: Rows dropped as exact duplicates.
        train: Sentences for training.
        held_out: Sentences held out.
        share_truncated: Share of kept sentences longer than the training length.
        tokens: Tokens stored, after cutting.
        mean_length: Mean length.
        length_histogram: `{"length": "001-008", "count": n}` a bin; the last one is open.
    """

    source: str
    data_hash: str
    rows_in: int
    rows_kept: int
    empty: int
    duplicates: int
    train: int
    held_out: int
    share_truncated: float
    tokens: int
    mean_length: float
    length_histogram: list[dict[str, str | int]]


@dataclass(frozen=True, kw_only=True)
class Meta:
    """What a prepared folder holds, `meta.json`.

    Attributes:
        backbone: Whose tokenizer was used, as it was named.
        tokenizer_hash: SHA-256 of that tokenizer.
        vocabulary: Every token id is below it.
        pad_id: Token id that fills batches up.
        max_length: Longest sentence stored, in tokens.
        data_hash: As in the report.
        source: As in the report.
        train: Sentences in `train/`.
        held_out: Sentences in `held_out/`.
    """

    backbone: str
    tokenizer_hash: str
    vocabulary: int
    pad_id: int
    max_length: int
    data_hash: str
    source: str
    train: int
    held_out: int

    @classmethod
    def load(cls, folder: Path) -> Meta:
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
    """Lengths counted in bins of one width, the last one open."""
    counts = np.bincount(
        np.minimum(lengths - 1, _LAST_BIN) // _BIN, minlength=_LAST_BIN // _BIN + 1
    )
    names = [f"{low + 1:03}-{low + _BIN:03}" for low in range(0, _LAST_BIN, _BIN)]
    bins = zip([*names, f"{_LAST_BIN + 1:03}+"], counts.tolist(), strict=True)
    return [{"length": name, "count": count} for name, count in bins]


def as_json(value: Report | Meta) -> bytes:
    """The same bytes for the same value."""
    return (json.dumps(asdict(value), indent=2, ensure_ascii=False) + "\n").encode()
