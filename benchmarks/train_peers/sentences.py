"""The sentences that are trained on: prepared token arrays, and the same ones as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.train_peers.sizes import EMBEDDED, ROOT
from pipeline.data.prepared import Meta
from pipeline.data.tokenizing import load_tokenizer, vocabulary_size
from pipeline.data.tokens import TokenArrays
from pipeline.prepare import prepare

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

LENGTH = 32  # tokens that the sample's sentences are cut to
_SAMPLE = "data/sample/wiki.txt.xz"


@dataclass(frozen=True)
class Sentences:
    """A prepared corpus.

    Attributes:
        source: where its sentences came from.
        tokens: their ids.
        meta: what was prepared.
    """

    source: str
    tokens: TokenArrays
    meta: Meta

    def as_dict(self) -> dict[str, Any]:
        """For the report."""
        return {
            "source": self.source,
            "count": len(self.tokens),
            "mean_tokens": float(self.tokens.lengths.mean()),
            "max_length": self.meta.max_length,
        }

    def texts(self, rows: np.ndarray, backbone: Path) -> list[str]:
        """These sentences as text again, cut as their ids were."""
        tokenizer, _ = load_tokenizer(str(backbone), self.meta.max_length)
        ids = [self.tokens[int(row)].tolist() for row in rows]
        texts: list[str] = tokenizer.decode_batch(ids, skip_special_tokens=True)
        return texts

    def check(self, backbone: Path, size: str) -> None:
        """Refuse a backbone whose tokenizer is not the one that made the ids.

        Raises:
            ValueError: the vocabularies differ.
        """
        tokenizer, _ = load_tokenizer(str(backbone), self.meta.max_length)
        own = vocabulary_size(tokenizer)
        if own != self.meta.vocabulary:
            raise ValueError(
                f"--prepared: made with a vocabulary of {self.meta.vocabulary}, but {size} has "
                f"{own}; prepare the corpus with backbone.source {EMBEDDED.relative_to(ROOT)}."
            )


def read(prepared: Path | None, folder: Path, fewest: int) -> Sentences:
    """A prepared folder, or the sample's corpus, which is prepared into `folder`.

    Args:
        prepared: as `python -m pipeline.prepare` made it; None takes the sample.
        folder: for the sample's token arrays.
        fewest: sentences of the largest batch.

    Raises:
        ValueError: no prepared folder, or fewer sentences than one batch.
    """
    if prepared is None:
        _prepare_sample(folder)
    meta = Meta.load(prepared or folder)
    source = meta.source if prepared else _SAMPLE
    tokens = TokenArrays.load((prepared or folder) / "train")
    if len(tokens) < fewest:
        raise ValueError(
            f"{source}: {len(tokens)} sentences are fewer than a batch of {fewest}; give more text "
            "as --prepared, or a smaller --batch-size."
        )
    return Sentences(source, tokens, meta)


def _prepare_sample(folder: Path) -> None:
    prepare(
        source=str(ROOT / _SAMPLE),
        revision=None,
        column="text",
        backbone=str(EMBEDDED),
        max_length=LENGTH,
        held_out=0.0,
        seed=42,
        minimum=2,
        out=folder,
    )
