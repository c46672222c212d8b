"""Packed tokens give the embeddings, losses and gradients of padded ones, without dropout."""

import shutil
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from transformers import DistilBertConfig, DistilBertModel

from pipeline.data.tokens import TokenArrays
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import Pooling
from pipeline.machine.errors import InputError
from pipeline.objectives import OBJECTIVES
from pipeline.training.batches import Collate, collator
from pipeline.training.first_token import only_first_token
from pipeline.training.network import TrainingNetwork, make_head
from pipeline.training.packed import UNIT, check_packs, packing
from pipeline.training.processes import ALONE
from pipeline.training.step import Step
from tests.tiny import WIDTH, change_json
from tests.training.lab import STEPS, Lab, record, rows
from tests.training.stub import CHUNKS, train_settings
from tests.training.waiting import nothing_waits

LONGEST, SENTENCES = 12, 8
INDICES = np.arange(SENTENCES)
TOLERANCE = 1e-12


def sentences() -> TokenArrays:
    """Of 3 to 11 tokens."""
    draw = np.random.default_rng(1)
    ids = [draw.integers(5, 60, draw.integers(3, LONGEST)).tolist() for _ in range(40)]
    return TokenArrays.of(ids, vocabulary=500)


def collators(chunk: int | None = None, *, few_shapes: bool = False) -> tuple[Collate, Collate]:
    """Padded and packed."""
    padded = collator(sentences(), 0, LONGEST, torch.device("cpu"))
    settings = train_settings(
        packed=True, chunk_size=chunk, max_length=LONGEST, batch_size=SENTENCES
    )
    return padded, packing(padded, sentences().lengths, settings, few_shapes=few_shapes)


def network(folder: Path, pooling: Pooling = "cls", attention: str = "eager") -> TrainingNetwork:
    """In double precision and training mode."""
    torch.manual_seed(1)
    encoder = SentenceEncoder.load(folder, "cpu", pooling)
    check_packs(encoder.model, "it")
    encoder.model.set_attn_implementation(attention)
    if pooling == "cls":
        only_first_token(encoder.model)
    return TrainingNetwork(encoder, make_head("mlp", WIDTH, None, 0.02)).double().train()


@pytest.fixture
def sure(tiny: Path, tmp_path: Path) -> Path:
    """A backbone without dropout."""
    folder = Path(shutil.copytree(tiny, tmp_path / "sure"))
    change_json(folder / "config.json", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return folder


@pytest.mark.parametrize("few_shapes", [False, True])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_embeddings_and_gradients_are_those_of_padded_rows(
    sure: Path, pooling: Pooling, attention: str, *, few_shapes: bool
) -> None:
    found = []
    for collate in collators(few_shapes=few_shapes):
        model = network(sure, pooling, attention)
        embeddings = model(*collate(INDICES))
        weight = torch.arange(embeddings.numel(), dtype=torch.float64).view_as(embeddings)
        (embeddings * weight.sin()).sum().backward()
        found.append((embeddings, {name: p.grad for name, p in model.named_parameters()}))
    (padded, expected), (packed, gradients) = found
    torch.testing.assert_close(packed, padded, rtol=TOLERANCE, atol=TOLERANCE)
    torch.testing.assert_close(gradients, expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("chunk", CHUNKS)
def test_steps_have_the_losses_and_leave_the_weights_of_padded_ones(
    sure: Path, chunk: int | None
) -> None:
    found = []
    for packed, collate in enumerate(collators(chunk)):
        model = network(sure)
        settings = train_settings(chunk_size=chunk, packed=bool(packed))
        step = Step(model, OBJECTIVES["vicreg_modified"](), settings, ALONE)
        taken = [step(*collate(INDICES + number), 1.0).loss for number in range(3)]
        found.append((torch.stack(taken), model.state_dict()))
    (expected, weights), (losses, found_weights) = found
    torch.testing.assert_close(losses, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found_weights, weights, rtol=1e-6, atol=1e-6)


def test_nothing_waits_for_the_device(tiny: Path) -> None:
    model, (_, collate) = network(tiny), collators()
    with nothing_waits():
        model(*collate(INDICES)).sum().backward()


def test_rows_draw_dropout_of_their_own(tiny_bert: Path) -> None:
    """Two views of a sentence differ, and a seed repeats them."""
    _, collate = collators()
    model, batch = network(tiny_bert), collate(INDICES)
    torch.manual_seed(3)
    first = model(*batch)
    torch.manual_seed(3)
    again = model(*batch)
    torch.testing.assert_close(again, first, rtol=0, atol=0)
    anchor, positive = first.chunk(2)
    assert (anchor - positive).abs().amax(dim=1).min() > 0.01


@pytest.mark.parametrize("chunk", CHUNKS)
def test_there_are_as_many_tokens_as_sentences_have(chunk: int | None) -> None:
    _, collate = collators(chunk)
    ids, mask = collate(INDICES)
    parts = [mask] if chunk is None else list(torch.split(mask, 2 * chunk))
    assert mask.shape == (2 * SENTENCES, int(mask.sum(dim=1).max()))
    most = max(int(part.sum()) for part in parts)
    assert ids.shape == ((most,) if chunk is None else (len(parts), most))


def test_compiled_programs_see_few_shapes() -> None:
    _, collate = collators(few_shapes=True)
    batches = [collate(INDICES + number) for number in range(30)]
    assert {len(ids) for ids, _ in batches} == {UNIT}
    assert {mask.shape[1] for _, mask in batches} <= {8, LONGEST}


@pytest.mark.verify
@pytest.mark.filterwarnings("ignore:.*autograd.function.Function.*should not be instantiated")
@pytest.mark.filterwarnings(r"ignore:.torch\.jit\.script_method. is deprecated")
def test_it_is_one_graph(tiny: Path) -> None:
    _, collate = collators(few_shapes=True)
    model, batch = network(tiny, "mean", "sdpa").eval(), collate(INDICES)
    torch.compiler.reset()
    graph = torch.compile(model.whole_batch, fullgraph=True, backend="aot_eager", dynamic=False)
    torch.testing.assert_close(graph(*batch), model.whole_batch(*batch))
    graph(*batch).sum().backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_run_is_recorded_as_packed(lab: Lab, tmp_path: Path) -> None:
    lab.train(tmp_path, changes={"train.packed": True})
    assert record(tmp_path)["training"]["attention"] == "eager, packed tokens"
    assert "packed" not in record(tmp_path)["training"]
    assert rows(tmp_path)[-1]["step"] == str(STEPS)


def test_another_kind_of_model_is_refused_by_name() -> None:
    model = DistilBertModel(DistilBertConfig(dim=32, n_layers=1, n_heads=2, hidden_dim=32))
    with pytest.raises(InputError, match=r"train\.packed: the/name is a DistilBertModel, and pack"):
        check_packs(model, "the/name")
