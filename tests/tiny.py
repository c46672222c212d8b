"""Tiny backbones and a configuration for them: two layers of width 32, built on the spot."""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

from pipeline.config.schema import Params
from pipeline.prepare import prepare

Refused = Callable[[int], str]  # what a command's exit status becomes; see tests/conftest.py

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "tests" / "sample"
BERT_MINI = ROOT / "backbones" / "bert-mini-wiki"
WIDTH = 32
LONGEST = 64  # tokens that the tiny backbones take
TRAINING_LENGTH = 16
SHAPE: dict[str, Any] = {
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}


def corpus() -> list[str]:
    return (SAMPLE / "corpus.txt").read_text(encoding="utf-8").splitlines()


def write_bert(folder: Path, **changes: Any) -> Path:
    """WordPiece, [CLS] ... [SEP], padding id 0."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=500, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(corpus()[:300], trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"unk_token": "[UNK]", "sep_token": "[SEP]", "cls_token": "[CLS]"}
    _save_tokenizer(folder, tokenizer, pad_token="[PAD]", mask_token="[MASK]", **names)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        max_position_embeddings=LONGEST,
        pad_token_id=0,
        **(SHAPE | changes),
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def write_roberta(folder: Path, **changes: Any) -> Path:
    """Byte-level BPE, <s> ... </s>, padding id 1, from which positions are counted."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus()[:300], trainer)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    names = {"unk_token": "<unk>", "sep_token": "</s>", "cls_token": "<s>", "bos_token": "<s>"}
    more = {"eos_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>"}
    _save_tokenizer(folder, tokenizer, **names, **more)
    config = RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        max_position_embeddings=LONGEST + 2,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        **(SHAPE | changes),
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        RobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def _save_tokenizer(folder: Path, tokenizer: Tokenizer, **tokens: str) -> None:
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, model_max_length=LONGEST, **tokens
    ).save_pretrained(folder)


SETTINGS: dict[str, Any] = {
    "corpus": {
        "source": "elsewhere/corpus.txt",
        "watch": "params.yaml",
        "revision": None,
        "column": "text",
        "held_out": 0.0,
        "seed": 42,
    },
    "backbone": {
        "source": "hub/tiny",
        "watch": "params.yaml",
        "revision": None,
        "pooling": "cls",
    },
    "train": {
        "max_length": TRAINING_LENGTH,
        "batch_size": 8,
        "epochs": 1,
        "steps": 6,
        "learning_rate": 1e-3,
        "weight_decay": 0.0,
        "gradient_clip": 1.0,
        "dev": str(SAMPLE / "STS" / "STSBenchmark" / "sts-dev.csv"),
        "keep": "best",
        "evaluate_every": 2,
        "record_every": 1,
        "head": "mlp",
        "head_std": None,
        "freeze_embeddings": False,
        "precision": "fp32",
        "compile": "off",
        "packed": False,
        "capture": False,
        "chunk_size": None,
        "device": "cpu",
        "launcher": "python",
        "track": "none",
    },
    "evaluate": {
        "data": str(SAMPLE),
        "tasks": "sts,transfer",
        "setting": "fast",
        "batch_size": 64,
    },
    "compare": {"baseline": "info_nce", "resamples": 100, "seed": 1},
    "runs": {"objectives": ["info_nce", "vicreg"], "seeds": [1, 2]},
    "conventions": {
        "gate": "cross_view",
        "positive_gradient": "anchor_only",
        "mean_over": "all",
        "mhs_negatives": "own_view",
        "mhe_exponent": 2,
        "mhe_weight_pull": "alignment",
    },
    "analysis": {
        "simulation": {
            "objectives": ["info_nce"],
            "grid": 5,
            "batches": 8,
            "negatives": 7,
            "positive_deviation": 0.05,
            "negative_deviation": 0.1,
            "positive_mean": 0.5,
            "temperatures": [0.3, 0.05],
            "steps": [0.5, 1.0],
            "seed": 1,
        },
        "held_out": 0.1,
        "objectives": ["info_nce", "vicreg"],
        "seeds": [1],
        "steps": 4,
        "evaluate_every": 2,
        "record_every": 1,
        "tasks": "sts",
        "batch_size": 8,
        "measure": {
            "batches": 2,
            "margin": 0.3,
            "temperatures": [0.05, 0.3],
            "steps": [0.5, 1.0],
            "seed": 1,
        },
    },
    "objectives": {
        "info_nce": {"temperature": 0.05},
        "vicreg": {"covariance_coefficient": 30.0},
        "vicreg_modified": {"temperature": 0.05, "margin": 0.3, "ratio": 1.5},
    },
}

MISSING = object()


def settings(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """SETTINGS with changes by path, `train.steps`; MISSING deletes.

    Where the objectives are others, the analyses are of these.
    """
    content = copy.deepcopy(SETTINGS)
    if isinstance(named := (changes or {}).get("objectives"), dict) and named:
        content["analysis"]["objectives"] = list(named)
        content["analysis"]["simulation"]["objectives"] = list(named)
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        section = content
        for parent in parents:
            section = section[parent]
        if value is MISSING:
            del section[last]
        else:
            section[last] = value
    return content


def write_params(path: Path, changes: Mapping[str, Any] | None = None) -> Path:
    path.write_text(yaml.safe_dump(settings(changes), sort_keys=False), encoding="utf-8")
    return path


def change_json(path: Path, **changes: Any) -> None:
    path.write_text(
        json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8"
    )


def halve_weights(folder: Path) -> None:
    """Store an encoder's weights in float16, as the encoders of the repository have them."""
    file = folder / "model.safetensors"
    weights = {name: tensor.half() for name, tensor in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def prepare_sample(backbone: Path, folder: Path, held_out: float = 0.0) -> Path:
    """The sample's corpus as token arrays."""
    source = {"corpus.source": str(SAMPLE / "corpus.txt"), "backbone.source": str(backbone)}
    params = Params(**settings(source | {"corpus.held_out": held_out}))
    prepare(params.corpus, params.backbone, params.train, folder)
    return folder
