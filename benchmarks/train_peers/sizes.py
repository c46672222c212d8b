"""The backbones whose training is timed, as folders that every contestant loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from transformers import BertConfig, BertModel

from pipeline.data.tokenizing import read_tokenizer
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
EMBEDDED = ROOT / "backbones" / "bert-mini-wiki"


def write_bert_base(folder: Path) -> None:
    """BERT base's shape, vocabulary 30522, with random weights, which cost the same time.

    The tokenizer is the embedded backbone's, so that both sizes get sentences of equal lengths.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = BertModel(BertConfig(), add_pooling_layer=False)
    SentenceEncoder(model, read_tokenizer(str(EMBEDDED)), Layout("cls")).save(folder)


def write_embedded(folder: Path) -> None:
    """The embedded backbone in float32."""
    SentenceEncoder.load(EMBEDDED, "cpu").save(folder)


SIZES: dict[str, Callable[[Path], None]] = {
    "bert-base": write_bert_base,
    "embedded": write_embedded,
}
