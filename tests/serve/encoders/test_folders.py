"""Folders that people have: the service gives sentence-transformers' embeddings, or says why not.

docs/operating.md has the same list.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Dense,
    Dropout,
    Normalize,
    Pooling,
    Transformer,
)
from transformers import T5Config, T5Model

from pipeline.encoder.vectors import normalize
from pipeline.encoder.version import folder_version
from serve.encoders.backends import choose
from serve.encoders.export import export
from serve.encoders.exported import Exported
from serve.encoders.registry import ServedEncoder
from serve.encoders.torch_backend import load_encoder
from tests.serve.served import batching, finish, submit
from tests.tiny import WIDTH, change_json, corpus, write_bert, write_roberta

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pipeline.encoder.vectors import Embeddings

TEXTS = ["A man is playing a guitar.", "no", "The [MASK] of <mask> Berlin", " ".join(corpus()[:20])]
PROMPTS = {"query": "query: ", "passage": "Read this Passage: "}


@dataclass
class Case:
    """A folder that sentence-transformers writes, and that changes afterwards.

    `modules` come behind a Transformer that `backbone` writes.
    """

    modules: Sequence[torch.nn.Module]
    backbone: Callable[..., Path] = write_bert
    settings: dict[str, Any] = field(default_factory=dict)
    change: Callable[[Path], object] = lambda _: None


def write_t5(folder: Path, **_: object) -> Path:
    """With a decoder, which sentence-transformers leaves out."""
    write_bert(folder)
    config = T5Config(
        vocab_size=500, d_model=WIDTH, d_kv=16, d_ff=64, num_layers=1, num_heads=2, pad_token_id=0
    )
    T5Model(config).save_pretrained(folder)
    return folder


def lower_case(folder: Path) -> None:
    """As earlier versions wrote it."""
    change_json(folder / "sentence_bert_config.json", do_lower_case=True)


def old_spelling(folder: Path) -> None:
    """As earlier versions wrote it: weights of Dense as a pickle, poolings as flags."""
    (folder / "1_Pooling" / "config.json").write_text(
        f'{{"word_embedding_dimension": {WIDTH}, "pooling_mode_mean_tokens": true, '
        '"pooling_mode_max_tokens": true, "pooling_mode_cls_token": false}'
    )
    dense = SentenceTransformer(str(folder), device="cpu")[2]
    (folder / "2_Dense" / "model.safetensors").unlink()
    torch.save(dense.state_dict(), folder / "2_Dense" / "pytorch_model.bin")


def lose_modules(folder: Path) -> None:
    """As transformers writes it."""
    (folder / "modules.json").unlink()


def continue_texts(folder: Path) -> None:
    lose_modules(folder)
    change_json(folder / "config.json", architectures=["SomeForCausalLM"])


def pooling(*modes: str) -> Pooling:
    made: Pooling = Pooling(WIDTH, modes)
    return made


SERVED = {
    **{mode: Case([pooling(mode)]) for mode in Pooling.POOLING_MODES},
    "Dense": Case([pooling("mean"), Dense(WIDTH, 24), Normalize()]),
    "Dense after several poolings": Case(
        [pooling("max", "weightedmean"), Dense(2 * WIDTH, 8, bias=False)]
    ),
    "two Dense": Case(
        [
            pooling("cls"),
            Dense(WIDTH, 48, activation_function=torch.nn.GELU()),
            Dense(48, 8, activation_function=None),
        ]
    ),
    "Dropout": Case([pooling("mean"), Dropout(0.5), Dense(WIDTH, 24), Dropout(0.5)]),
    "old spellings": Case([pooling("mean", "max"), Dense(2 * WIDTH, 8)], change=old_spelling),
    "a default prompt": Case(
        [pooling("mean")], settings={"prompts": PROMPTS, "default_prompt_name": "query"}
    ),
    "prompts": Case([pooling("mean")], settings={"prompts": PROMPTS}),
    "truncate_dim": Case([pooling("mean")], settings={"truncate_dim": 8}),
    "truncate_dim above": Case([pooling("mean")], settings={"truncate_dim": 10 * WIDTH}),
    "do_lower_case": Case([pooling("mean")], change=lower_case),
    "do_lower_case, cased": Case([pooling("mean")], write_roberta, change=lower_case),
    "T5": Case([pooling("mean"), Dense(WIDTH, 24)], write_t5),
    "no modules": Case([pooling("cls")], change=lose_modules),
    "no modules, made to continue texts": Case([pooling("cls")], change=continue_texts),
}


def write(case: Case, folder: Path) -> Path:
    case.backbone(folder / "backbone", num_hidden_layers=1)
    modules = [Transformer(str(folder / "backbone")), *case.modules]
    made = SentenceTransformer(modules=modules, device="cpu", **case.settings)
    made.save(str(folder / "encoder"), create_model_card=False)
    case.change(folder / "encoder")
    return folder / "encoder"


def serve(folder: Path, exports: Path) -> ServedEncoder:
    logging.disable(logging.WARNING)  # torch's exporter about what is not installed
    exported = Exported.load(export(folder, exports))
    logging.disable(logging.NOTSET)
    backend = choose(exported, folder, "onnxruntime-f32", 1)
    version = folder_version(folder)
    return ServedEncoder("it", version, folder, 0, None, exported, exported.tokenizer(), backend)


def embeddings(encoder: ServedEncoder, prompt_name: str | None = None) -> Embeddings:
    """Of TEXTS, as a request gets them."""

    async def main() -> Embeddings:
        with batching(threads=0) as batcher:
            job = submit(batcher, encoder, TEXTS, prompt_name=prompt_name)
            await finish(batcher)
            return job.future.result().embeddings

    found = asyncio.run(main())
    return normalize(found) if encoder.description.normalize else found


def assert_equal(ours: Embeddings, theirs: Embeddings) -> None:
    """To 1e-6 of their lengths."""
    scale = np.linalg.norm(theirs, axis=1, keepdims=True)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max(initial=0, where=scale > 0) / scale.max() < 1e-6


@pytest.mark.parametrize("case", SERVED.values(), ids=SERVED)
def test_the_embeddings_are_those_of_sentence_transformers(case: Case, tmp_path: Path) -> None:
    folder = write(case, tmp_path)
    theirs = SentenceTransformer(str(folder), device="cpu")
    served = serve(folder, tmp_path / "exports")
    assert_equal(embeddings(served), theirs.encode(TEXTS))
    assert_equal(load_encoder(folder).encode(TEXTS), theirs.encode(TEXTS))
    for name in case.settings.get("prompts", {}):
        assert served.description.prompts[name] == PROMPTS[name]
        assert_equal(embeddings(served, name), theirs.encode(TEXTS, prompt_name=name))


REFUSED: dict[str, tuple[Case, str]] = {
    "a Dense module with a residual": (
        Case([pooling("mean"), Dense(WIDTH, 8, use_residual=True)]),
        r"cannot use a Dense module with a residual, or one between other things than",
    ),
    "an activation of another library": (
        Case(
            [pooling("mean"), Dense(WIDTH, 8)],
            change=lambda folder: change_json(
                folder / "2_Dense" / "config.json", activation_function="my.Activation"
            ),
        ),
        r"cannot use activation_function my\.Activation; Triad reads Identity, Tanh, ReLU",
    ),
    "weights of Dense that are missing": (
        Case(
            [pooling("mean"), Dense(WIDTH, 8)],
            change=lambda folder: (folder / "2_Dense" / "model.safetensors").unlink(),
        ),
        r"2_Dense: no Dense module that can be loaded \(",
    ),
    "a prompt that is left out of the pooling": (
        Case([Pooling(WIDTH, "mean", include_prompt=False)], settings={"prompts": PROMPTS}),
        r"leaves the prompt's tokens out of the pooling, which Triad cannot; take an encoder",
    ),
    "a tokenizer that cuts at the start": (
        Case(
            [pooling("mean")],
            change=lambda folder: change_json(
                folder / "tokenizer_config.json", truncation_side="left"
            ),
        ),
        r"its tokenizer cuts or reads texts in a way of its own",
    ),
}


@pytest.mark.parametrize(("case", "reason"), REFUSED.values(), ids=REFUSED)
def test_another_folder_is_refused_in_one_sentence(case: Case, reason: str, tmp_path: Path) -> None:
    folder = write(case, tmp_path)
    with pytest.raises(ValueError, match=reason) as caught:
        export(folder, tmp_path / "exports")
    assert str(caught.value).startswith(str(folder))
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "exports").iterdir())


def test_the_embeddings_are_cut_before_they_are_scaled(tmp_path: Path) -> None:
    """sentence-transformers scales them first: the same direction, and another length."""
    case = Case([pooling("mean"), Normalize()], settings={"truncate_dim": 8})
    folder = write(case, tmp_path)
    theirs = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    assert_equal(load_encoder(folder).encode(TEXTS), normalize(theirs))
