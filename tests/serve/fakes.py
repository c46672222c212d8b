"""Encoders that need no runtime: embeddings are a pure function of ids, and can be held up."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from serve.encoders.backends import Backend
from serve.encoders.exported import Description, Embed, Exported
from serve.encoders.registry import ServedEncoder
from serve.encoders.text import TextTokenizer

if TYPE_CHECKING:
    from pipeline.encoder.vectors import Embeddings, Ids

Row = tuple[int, ...]
HEAD, TAIL, WORDS = 1, 2, 100  # special ids of fake encoders, and the size of their vocabulary
WIDTH = 4
# Longer than anything takes that is not stuck.
PATIENCE = 60.0
NOWHERE = "/nowhere"


def words(*numbers: int) -> str:
    """A text that fake encoders read as these ids between HEAD and TAIL."""
    return " ".join(f"w{number}" for number in numbers)


def row(*numbers: int) -> Row:
    """The ids of `words`."""
    return (HEAD, *numbers, TAIL)


def embedding(ids: Row) -> Embeddings:
    """What fakes give for a text; whole numbers, so that float32 has no rounding."""
    weighted = sum(place * token for place, token in enumerate(ids))
    return np.array([len(ids), sum(ids), weighted, ids[-2]], np.float32)


class Fake:
    """A backend whose embeddings are a pure function of ids, and which can be stopped or broken.

    Attributes:
        batches: the texts of each call.
        faults: what a text gives instead: an error of the whole call, or this number throughout.
        gate: a call goes on when this is set, as it is at first.
        entered: released when a call has come to the gate.
    """

    def __init__(self) -> None:
        self.batches: list[list[Row]] = []
        self.faults: dict[Row, Exception | float] = {}
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Semaphore(0)

    def __call__(self, ids: Ids, mask: Ids) -> Embeddings:
        pairs = zip(ids, mask, strict=True)
        rows = [tuple(one[: kept.sum()].tolist()) for one, kept in pairs]
        self.batches.append(rows)
        self.entered.release()
        assert self.gate.wait(PATIENCE)
        found = np.stack([embedding(one) for one in rows])
        for place, one in enumerate(rows):
            fault = self.faults.get(one)
            if isinstance(fault, Exception):
                raise fault
            if fault is not None:
                found[place] = fault
        return found

    @property
    def computed(self) -> list[Row]:
        return [one for batch in self.batches for one in batch]


def fake_tokenizer(max_length: int = 16) -> TextTokenizer:
    vocabulary = {"[UNK]": 0, "[CLS]": HEAD, "[SEP]": TAIL}
    vocabulary |= {f"w{number}": number for number in range(TAIL + 1, WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", HEAD), ("[SEP]", TAIL)]
    )
    return TextTokenizer(tokenizer, max_length, head=(HEAD,), tail=(TAIL,))


def served(
    backend: Embed,
    name: str = "fake",
    max_length: int = 16,
    alone: Embed | None = None,
    default_prompt: str | None = None,
) -> ServedEncoder:
    """An encoder that was never exported; `alone` computes what nothing is computed beside."""
    description = Description(
        dimension=WIDTH,
        dimensions=(WIDTH,),
        max_length=max_length,
        pooling="mean",
        normalize=False,
        padding_id=0,
        prompts={"query": f"{words(90)} ", "passage": f"{words(91)} "},
        default_prompt=default_prompt,
    )
    nowhere = Path(NOWHERE)
    exported = Exported(nowhere, description)
    made = Backend("fake", backend, alone or backend, 1.0)
    tokenizer = fake_tokenizer(max_length)
    return ServedEncoder(name, "version-1", nowhere, 0, None, exported, tokenizer, made)
