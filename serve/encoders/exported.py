"""An exported encoder: all that serving needs, in one folder, so that it needs no torch.

    graph.onnx       token ids and mask (N, L) -> pooled, not normalized embeddings (N, D)
    tokenizer.json   as the encoder's own
    reference.npz    token ids and the embeddings that torch computes for them in float32
    export.json      the rest: `Description`

Not here: how it is made (export.py), how it is run (backends.py).
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.encoder.vectors import Embeddings, Ids
from serve.encoders.text import TextTokenizer

# Counts up when the files or their meaning change, so that older exports are made again.
FORMAT = 4

# Token ids and mask, both (N, L) -> pooled embeddings (N, D). May be called from several threads.
Embed = Callable[[Ids, Ids], Embeddings]


class ExportError(ValueError):
    """An encoder that cannot be exported, or an export that cannot be used."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """What is known of an exported encoder.

    Attributes:
        dimension: D.
        dimensions: lengths to which embeddings may be cut, D included.
        max_length: tokens, special ones included, after which a text is cut.
        pooling: such as `mean`, or several together, `cls+mean`.
        normalize: whether the encoder's own modules scale embeddings to length one.
        padding_id: the id at places that the mask leaves out.
        prompts: texts that may be put before a text, by name.
        default_prompt: the name of the one that is, unless another one is asked for.
    """

    dimension: int
    dimensions: tuple[int, ...]
    max_length: int
    pooling: str
    normalize: bool
    padding_id: int
    prompts: dict[str, str]
    default_prompt: str | None


@dataclass(frozen=True)
class ReferenceVectors:
    """Texts as token ids, and torch's float32 embeddings (N, D) of them, pooled, not normalized."""

    ids: list[list[int]]
    embeddings: Embeddings

    def save(self, file: Path) -> None:
        """Write reference.npz."""
        lengths = [len(row) for row in self.ids]
        flat = [token for row in self.ids for token in row]
        np.savez(file, lengths=lengths, ids=flat, embeddings=self.embeddings)

    @classmethod
    def load(cls, file: Path) -> "ReferenceVectors":
        """Read reference.npz."""
        with np.load(file, allow_pickle=False) as content:
            ends = np.cumsum(content["lengths"])[:-1]
            ids = [row.tolist() for row in np.split(content["ids"], ends)]
            return cls(ids, content["embeddings"].astype(np.float32))


@dataclass(frozen=True)
class Exported:
    """An exported encoder's folder."""

    folder: Path
    description: Description

    @classmethod
    def load(cls, folder: Path) -> "Exported":
        """Read a folder's description.

        Raises:
            ExportError: no export is there, or one of another format.
        """
        try:
            content = json.loads((folder / "export.json").read_text(encoding="utf-8"))
            if content.pop("format") != FORMAT:
                raise ExportError(f"{folder}: was exported by another version of Triad.")
            content["dimensions"] = tuple(content["dimensions"])
            return cls(folder, Description(**content))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ExportError(f"{folder}: holds no usable export ({error}).") from error

    def write(self) -> None:
        """Write the description."""
        content: dict[str, Any] = {"format": FORMAT} | asdict(self.description)
        text = json.dumps(content, indent=2) + "\n"
        (self.folder / "export.json").write_text(text, encoding="utf-8")

    @cached_property
    def reference_vectors(self) -> ReferenceVectors:
        """What the self test expects."""
        return ReferenceVectors.load(self.folder / "reference.npz")

    def tokenizer(self) -> TextTokenizer:
        """The tokenizer, read anew."""
        return TextTokenizer.load(self.folder / "tokenizer.json", self.description.max_length)
