"""The head, the network around the backbone, and the refusal of a backbone without dropout."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import get_args
from unittest.mock import Mock

import pytest
import torch
from torch import nn

from pipeline.config.schema import BackboneParams, HeadKind, TrainParams
from pipeline.encoder.encoder import SentenceEncoder, attention_mask, pool
from pipeline.encoder.folder import Pooling
from pipeline.machine.errors import InputError
from pipeline.training.network import (
    TrainingNetwork,
    attend_with_dropout,
    build,
    freeze_embeddings,
    make_head,
    refuse_without_dropout,
    taken_attention,
)
from tests.tiny import WIDTH, change_json

WIDE = 400  # 160,000 weights: their standard deviation is known to 0.2 %


def dense(head: nn.Module) -> nn.Linear:
    (layer,) = (part for part in head.modules() if isinstance(part, nn.Linear))
    return layer


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("mlp", math.tanh(2 * 0.5 + 1)),
        ("linear", 2.0),
        ("tanh_linear", 2 * math.tanh(0.5) + 1),
    ],
)
def test_heads_by_hand(kind: HeadKind, value: float) -> None:
    """Width 1, weight 2, bias 1, input 0.5."""
    head = make_head(kind, 1, None, 0.02)
    nn.init.constant_(dense(head).weight, 2)
    nn.init.constant_(dense(head).bias, 1)
    assert head(torch.tensor([[0.5]])).item() == pytest.approx(value)


@pytest.mark.parametrize(("std", "weight", "bias"), [(None, 0.05, 0.0), (0.3, 0.3, 0.3)])
def test_a_head_starts_as_the_backbones_layers_do_or_with_the_std_that_is_asked_for(
    std: float | None, weight: float, bias: float
) -> None:
    layer = dense(make_head("mlp", WIDE, std, 0.05))
    assert float(layer.weight.detach().std()) == pytest.approx(weight, rel=0.02)
    assert float(layer.bias.detach().std()) == pytest.approx(bias, rel=0.2)


def test_a_folder_that_says_another_pooling_is_refused(tiny: Path, tmp_path: Path) -> None:
    """Else the run would train one pooling and record another."""
    source = str(tmp_path / "mean")
    SentenceEncoder.load(tiny, "cpu", "mean").save(tmp_path / "mean")
    backbone = BackboneParams(source=source, watch=source, revision=None, pooling="cls")
    with pytest.raises(
        InputError, match=r"^backbone\.pooling: 'cls', but .* says 'mean'; set that"
    ):
        build(backbone, Mock(TrainParams), torch.device("cpu"))


@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_the_network_is_backbone_pooling_head(tiny: Path, pooling: Pooling) -> None:
    encoder = SentenceEncoder.load(tiny, "cpu", pooling)
    network = TrainingNetwork(encoder, make_head("mlp", WIDTH, None, 0.02)).eval()
    batch = encoder.tokenizer(["one sentence", "two"], padding=True, return_tensors="pt")
    ids, mask = batch["input_ids"], batch["attention_mask"]
    hidden = encoder.model(input_ids=ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(network(ids, mask), network.head(pool(hidden, mask, pooling)))
    names = {name.partition(".")[0] for name, _ in network.named_parameters()}
    assert names == {"transformer", "head"}


@torch.no_grad()
def test_rows_of_like_length_share_a_pass_and_keep_their_places(tiny: Path) -> None:
    encoder = SentenceEncoder.load(tiny, "cpu", "mean")
    network = TrainingNetwork(encoder, nn.Identity()).eval()
    texts = ["word " * (1 + place * 7 % 13) for place in range(150)]
    batch = encoder.tokenizer(texts, padding=True, return_tensors="pt")
    widths: list[int] = []

    def note(_: nn.Module, __: tuple[()], given: dict[str, torch.Tensor]) -> None:
        widths.append(given["input_ids"].shape[1])

    with encoder.model.register_forward_pre_hook(note, with_kwargs=True):
        found = network(batch["input_ids"], batch["attention_mask"])
    assert widths == sorted(widths)
    assert len(set(widths)) == 3
    alone = [
        network(ids=one["input_ids"], mask=one["attention_mask"])
        for one in (encoder.tokenizer([text], return_tensors="pt") for text in texts)
    ]
    torch.testing.assert_close(found, torch.cat(alone))


@torch.no_grad()
def test_a_mask_that_asks_the_device_nothing_gives_the_same(tiny: Path) -> None:
    encoder = SentenceEncoder.load(tiny, "cpu")
    encoder.model.set_attn_implementation("sdpa")
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    ids = torch.tensor([[2, 7, 8, 3], [2, 3, 0, 0]])
    elsewhere = attention_mask(encoder.model, mask.to("meta"))
    assert (elsewhere.shape, elsewhere.dtype) == ((2, 1, 1, 4), torch.bool)
    hidden = encoder.model(
        input_ids=ids, attention_mask=mask[:, None, None].bool()
    ).last_hidden_state
    alone = encoder.model(input_ids=ids[1:, :2]).last_hidden_state
    torch.testing.assert_close(hidden[1, :2], alone[0])


def test_training_on_cuda_does_without_cudnns_attention() -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()  # type: ignore[no-untyped-call]
    model = SimpleNamespace(device=torch.device("cuda"))
    attend_with_dropout(model)  # type: ignore[arg-type]
    after = torch.backends.cuda.cudnn_sdp_enabled()  # type: ignore[no-untyped-call]
    torch.backends.cuda.enable_cudnn_sdp(before)
    assert not after


def test_the_attention_that_is_taken_has_a_name(tiny_bert: Path) -> None:
    model = SentenceEncoder.load(tiny_bert, "cpu").model
    assert taken_attention(model, None).startswith("sdpa, ")
    attend_with_dropout(model)
    assert taken_attention(model, None) == "eager"


NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@pytest.mark.parametrize("kept", NO_DROPOUT)
def test_one_kind_of_dropout_is_enough(own: Path, kept: str) -> None:
    change_json(own / "config.json", **(NO_DROPOUT | {kept: 0.1}))
    refuse_without_dropout(SentenceEncoder.load(own, "cpu"), "it")


def test_the_probe_leaves_no_trace(tiny: Path) -> None:
    encoder = SentenceEncoder.load(tiny, "cpu")
    before = torch.get_rng_state()
    refuse_without_dropout(encoder, "it")
    assert torch.equal(torch.get_rng_state(), before)
    assert not encoder.model.training


def test_embeddings_that_are_kept_elsewhere_cannot_be_frozen(tiny: Path) -> None:
    encoder = SentenceEncoder.load(tiny, "cpu")
    del encoder.model.embeddings
    with pytest.raises(InputError, match=r"train\.freeze_embeddings: .* has no part named"):
        freeze_embeddings(encoder, str(tiny))
