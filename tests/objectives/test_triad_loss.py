"""TriadLoss: sentence-transformers' trainer trains with our objectives, and gets our gradients."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pipeline.objectives import OBJECTIVES
from pipeline.objectives.foreign import repaired
from pipeline.objectives.sigmoid import sigmoid_loss
from pipeline.objectives.triad_loss import TriadLoss
from tests.tiny import corpus

theirs: Any = pytest.importorskip(
    "sentence_transformers", reason="the extra `anatomy` is not installed"
)
datasets: Any = pytest.importorskip("datasets", reason="the extra `dev` is not installed")
OURS = {
    "info_nce": OBJECTIVES["info_nce"](),
    "vicreg_modified": OBJECTIVES["vicreg_modified"](),
    "repaired": repaired(sigmoid_loss),
}


def encoder(folder: Path, dropout: float) -> Any:
    """A tiny BERT with [CLS] pooling, as sentence-transformers has it."""
    modules = theirs.sentence_transformer.modules
    rates = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    transformer = modules.Transformer(str(folder), config_kwargs=rates)
    pooling = modules.Pooling(transformer.get_embedding_dimension(), "cls")
    return theirs.SentenceTransformer(modules=[transformer, pooling], device="cpu")


def gradients(model: nn.Module) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", OURS)
def test_its_gradients_are_the_objectives(tiny_bert: Path, name: str) -> None:
    model = encoder(tiny_bert, dropout=0.0).train()
    columns = [corpus()[:8], corpus()[8:16]]
    features = [model.preprocess(sentences) for sentences in columns]
    torch.autograd.backward(TriadLoss(model, OURS[name])(features, torch.zeros(8)))
    by_trainer = gradients(model)
    model.zero_grad()
    embeddings = [model(model.preprocess(rows))["sentence_embedding"] for rows in columns]
    torch.autograd.backward(OURS[name](*embeddings))
    assert by_trainer
    for key, expected in gradients(model).items():
        torch.testing.assert_close(by_trainer[key], expected)


@pytest.mark.parametrize("name", OURS)
def test_their_trainer_lowers_the_loss_with_dropout_as_the_only_difference(
    tiny_bert: Path, tmp_path: Path, name: str
) -> None:
    """Twelve steps on 64 sentences, each of which is its own positive."""
    torch.manual_seed(0)
    model = encoder(tiny_bert, dropout=0.1)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    sentences = corpus()[:64]
    loss = TriadLoss(model, OURS[name])
    arguments = theirs.SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path),
        num_train_epochs=3,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_steps=4,
        disable_tqdm=True,
    )
    trainer = theirs.SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=datasets.Dataset.from_dict({"anchor": sentences, "positive": sentences}),
        loss=loss,
    )
    trainer.train()
    moved = [key for key, value in model.state_dict().items() if not value.equal(before[key])]
    assert moved
    assert all(row["loss"] == row["loss"] for row in trainer.state.log_history if "loss" in row)
    if name == "info_nce":  # the only one of the three whose loss has a value
        losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
        assert losses[-1] < losses[0]


def test_rows_of_another_number_of_columns_are_refused(tiny_bert: Path) -> None:
    model = encoder(tiny_bert, dropout=0.0)
    features = [model.preprocess(["a", "b"])]
    for count in (1, 3):
        with pytest.raises(
            ValueError, match=f"needs two columns, anchor and positive, got {count}"
        ):
            TriadLoss(model, OURS["info_nce"])(features * count)


def test_the_models_card_can_name_objective_and_values() -> None:
    expected = {"objective": "info_nce", "temperature": 0.05}
    assert TriadLoss(nn.Identity(), OURS["info_nce"]).get_config_dict() == expected
