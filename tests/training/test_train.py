"""The training stage: same seed same bytes, its settings, its record."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from pipeline.machine.device import taken_precision
from pipeline.objectives import OBJECTIVES
from pipeline.train import main
from pipeline.training.curves import COLUMNS
from pipeline.training.identity import identify
from tests.tiny import LONGEST, TRAINING_LENGTH
from tests.training.lab import STEPS, Lab, record, rows, weights, written

SIGMOID = {"loss": "pipeline.objectives.sigmoid:sigmoid_loss", "temperature": 0.1, "bias": -10.0}
REPAIR = {"margin": 0.3, "ratio": 1.5, "temperature": None}
RANKING = {
    "loss": "sentence_transformers.sentence_transformer.losses:MultipleNegativesRankingLoss",
    "scale": 20.0,
}


def steps(folder: Path, table: str = "curve.csv") -> list[int]:
    return [int(row["step"]) for row in rows(folder, table)]


def test_the_same_seed_gives_the_same_bytes(lab: Lab, finished: Path, tmp_path: Path) -> None:
    torch.manual_seed(77)  # what came before does not matter
    lab.train(tmp_path)
    assert written(tmp_path) == written(finished)
    model = "models/model"
    assert folder_version(tmp_path / model) == folder_version(finished / model)


def test_another_seed_gives_other_weights(lab: Lab, finished: Path, tmp_path: Path) -> None:
    lab.train(tmp_path, seed=2)
    one, other = written(tmp_path), written(finished)
    assert one["model.safetensors"] != other["model.safetensors"]
    assert one["curve.csv"] != other["curve.csv"]


def test_rows_are_written_at_each_interval_five_times_in_the_first_and_at_the_last_step(
    lab: Lab, tmp_path: Path
) -> None:
    every = {"train.evaluate_every": 10, "train.record_every": 4}
    lab.train(tmp_path, changes={"train.steps": 22, **every})
    assert steps(tmp_path) == [0, 2, 4, 6, 8, 10, 20, 22]
    assert steps(tmp_path, "dynamics.csv") == [4, 8, 12, 16, 20, 22]


def test_at_the_same_step_both_tables_say_the_same(finished: Path) -> None:
    by_step = {row["step"]: row for row in rows(finished, "dynamics.csv")}
    for row in rows(finished)[1:]:  # at step 0 there was no batch
        recorded = by_step[row["step"]]
        same = row.keys() & recorded.keys()
        assert {"dissipation", "positive_cosine"} < same
        assert {key: row[key] for key in same} == {key: recorded[key] for key in same}


def test_recording_changes_no_weight(lab: Lab, finished: Path, tmp_path: Path) -> None:
    lab.train(tmp_path, changes={"train.record_every": 5})
    assert written(tmp_path)["model.safetensors"] == written(finished)["model.safetensors"]


def test_the_command_line_may_replace_the_steps(lab: Lab, tmp_path: Path) -> None:
    options = ["--steps", "3", "--evaluate-every", "1", "--record-every", "2"]
    assert main([*lab.arguments(tmp_path), *options]) == 0
    assert steps(tmp_path) == [0, 1, 2, 3]
    assert steps(tmp_path, "dynamics.csv") == [2, 3]
    assert record(tmp_path)["training"]["steps"] == 3


def test_no_steps_are_refused(lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*lab.arguments(tmp_path), "--steps", "0"])
    assert "--steps" in capsys.readouterr().err


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_trains(lab: Lab, tmp_path: Path, name: str) -> None:
    fields = OBJECTIVES[name]().hyperparameters.model_dump()
    changes = {"train.steps": 3, "train.evaluate_every": 3, "objectives": {name: fields}}
    progress = lab.train(tmp_path, name, changes=changes | {"runs.objectives": [name]})
    untrained, *_, row = rows(tmp_path)
    assert tuple(row) == COLUMNS
    assert {key for key, value in untrained.items() if value} == {"step", "dev_spearman"}
    assert steps(tmp_path) == [0, 1, 2, 3]
    undefined = {key for key, value in row.items() if value == ""}
    assert undefined <= ({"hardest_share", "ratio"} if row["dissipation"] == "0.0" else set())
    assert all(np.isfinite(float(value)) for value in row.values() if value)
    assert 1 <= progress.best_step <= 3
    before, after = weights(lab.backbone), weights(tmp_path / "models/model")
    assert any(not torch.equal(before[key], after[key]) for key in before)


def test_roberta_and_another_pooling_train(roberta_lab: Lab, tmp_path: Path) -> None:
    roberta_lab.train(tmp_path, changes={"backbone.pooling": "mean"})
    model = tmp_path / "models/model"
    ours = SentenceEncoder.load(model, "cpu")
    assert ours.layout.pooling == "mean"
    theirs = SentenceTransformer(str(model), device="cpu")
    sentences = ["A sentence.", "Another one, which is longer."]
    assert np.abs(ours.encode(sentences) - theirs.encode(sentences)).max() < 1e-5


def test_bf16_trains_weights_in_float32(lab: Lab, tmp_path: Path) -> None:
    lab.train(tmp_path, changes={"train.precision": "bf16", "train.steps": 2})
    saved = weights(tmp_path / "models/model")
    assert {tensor.dtype for tensor in saved.values()} == {torch.float32}


def test_the_loss_falls(lab: Lab, tmp_path: Path) -> None:
    lab.train(tmp_path, changes={"train.steps": 30, "train.evaluate_every": 15})
    losses = {row["step"]: row["loss"] for row in rows(tmp_path)}
    assert float(losses["30"]) < float(losses["3"])


def test_epochs_count_where_steps_are_not_given(lab: Lab, tmp_path: Path) -> None:
    def stop(step: int, steps: int, row: Mapping[str, float] | None) -> None:
        assert steps == 9  # 3 * (2,620 sentences // 800)
        raise KeyboardInterrupt

    changes = {"train.steps": None, "train.epochs": 3, "train.batch_size": 800}
    with pytest.raises(KeyboardInterrupt):
        lab.train(tmp_path, report=stop, changes=changes)


def test_the_optimizer_gets_the_settings_and_its_rate_falls_linearly(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[float, float]] = []
    clipped: list[float] = []

    class Watched(torch.optim.AdamW):
        def step(self, closure: Any = None) -> Any:
            (group,) = self.param_groups
            seen.append((group["lr"], group["weight_decay"]))
            return super().step(closure)

    monkeypatch.setattr("torch.optim.AdamW", Watched)
    monkeypatch.setattr(
        "pipeline.training.step.clip_grad_norm_", lambda _, limit: clipped.append(limit)
    )
    lab.train(tmp_path, changes={"train.weight_decay": 0.01, "train.gradient_clip": 0.5})
    expected = [1e-3 * (STEPS - step) / STEPS for step in range(STEPS)]
    assert [rate for rate, _ in seen] == pytest.approx(expected)
    assert {decay for _, decay in seen} == {0.01}
    assert clipped == [0.5] * STEPS


def test_frozen_embeddings_do_not_move(lab: Lab, finished: Path, tmp_path: Path) -> None:
    lab.train(tmp_path, changes={"train.freeze_embeddings": True, "train.weight_decay": 0.1})
    before = weights(lab.backbone)
    frozen, free = (weights(folder / "models/model") for folder in (tmp_path, finished))
    tables = {key for key in before if key.startswith("embeddings.")}
    assert {key for key in before if torch.equal(before[key], frozen[key])} == tables
    table = "embeddings.word_embeddings.weight"
    assert not torch.equal(before[table], free[table])


def test_the_saved_maximum_length_is_the_backbones(finished: Path) -> None:
    text = (finished / "models/model/sentence_bert_config.json").read_text(encoding="utf-8")
    assert json.loads(text)["max_seq_length"] == LONGEST != TRAINING_LENGTH


def test_an_objectives_own_learning_rate_is_used(lab: Lab, tmp_path: Path) -> None:
    lab.train(tmp_path, changes={"objectives.info_nce.train": {"learning_rate": 1e-12}})
    assert record(tmp_path)["training"]["learning_rate"] == 1e-12
    before, after = weights(lab.backbone), weights(tmp_path / "models/model")
    for key, tensor in before.items():
        assert torch.allclose(after[key], tensor, rtol=0, atol=1e-9)


def test_the_record_says_what_made_the_encoder_and_no_times(lab: Lab, finished: Path) -> None:
    told = record(finished)
    named = "backbone best curve data hardware hyperparameters kept objective seed steps"
    assert sorted(told) == sorted([*named.split(), "training", "versions"])
    assert told["objective"] == "info_nce"
    assert told["hyperparameters"] == {"temperature": 0.05}
    assert told["seed"] == 1
    assert told["training"]["learning_rate"] == 1e-3
    assert told["training"]["steps"] == told["steps"] == STEPS
    assert told["training"]["attention"] == "eager"
    assert told["backbone"] == {
        "source": str(lab.backbone),
        "pooling": "cls",
        "version": folder_version(lab.backbone),
    }
    meta = json.loads((lab.prepared / "meta.json").read_text(encoding="utf-8"))
    assert told["data"]["hash"] == meta["data_hash"]
    assert told["versions"]["torch"] == torch.__version__
    assert told["hardware"].startswith("cpu, ")
    assert [row["step"] for row in told["curve"]] == [0, 1, 2, 4, 6]


def test_the_model_card_shows_the_settings(finished: Path) -> None:
    card = (finished / "models/model/README.md").read_text(encoding="utf-8")
    assert "# info_nce-1\n" in card
    assert "| temperature | 0.05 |" in card
    assert "on 2,620 sentences" in card


def test_it_is_told_and_recorded_what_was_taken_where_the_settings_say_auto(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    auto = {"train.precision": "auto", "train.compile": "auto", "train.steps": 1}
    lab.train(tmp_path, changes=auto)
    training = record(tmp_path)["training"]
    precision = taken_precision("auto", torch.device("cpu"))
    taken = {"precision": precision, "compile": "off", "cuda_graphs": False}
    assert {key: training[key] for key in taken} == taken
    told = f"info_nce-1: {precision}, not compiled, attention eager."
    assert told in capsys.readouterr().out.splitlines()


def test_a_revision_of_the_backbone_is_recorded_where_one_is_set(lab: Lab, tmp_path: Path) -> None:
    identity = identify(lab.params(tmp_path), "info_nce", 1, lab.prepared)
    pinned = replace(identity, backbone=identity.backbone.model_copy(update={"revision": "v1"}))
    assert "revision" not in identity.as_dict()["backbone"]
    assert pinned.as_dict()["backbone"]["revision"] == "v1"


def test_a_variant_is_trained_by_its_name_and_says_what_it_varies(lab: Lab, tmp_path: Path) -> None:
    gentle = {"variant_of": "vicreg", "covariance_coefficient": 3.0}
    lab.train(tmp_path, "gentle", changes={"objectives.gentle": gentle})
    told = record(tmp_path)
    assert (told["objective"], told["variant_of"]) == ("gentle", "vicreg")
    assert told["hyperparameters"] == {"covariance_coefficient": 3.0}


@pytest.mark.parametrize("repair", [{}, {"repair": REPAIR}], ids=["as it is", "repaired"])
def test_a_loss_of_others_trains_and_is_recorded_with_its_values_and_repair(
    lab: Lab, tmp_path: Path, repair: dict[str, Any]
) -> None:
    lab.train(tmp_path, "mine", changes={"objectives.mine": SIGMOID | repair})
    told = record(tmp_path)
    assert told["objective"] == "mine"
    assert told["hyperparameters"] == SIGMOID | {"repair": None} | repair
    assert told["curve"][-1]["ratio"] is None or told["curve"][-1]["ratio"] > 0
    card = (tmp_path / "models/model/README.md").read_text(encoding="utf-8")
    assert "| loss | pipeline.objectives.sigmoid:sigmoid_loss |" in card


def test_the_version_of_a_losss_library_is_recorded(lab: Lab, tmp_path: Path) -> None:
    lab.train(tmp_path, "mine", changes={"objectives.mine": RANKING})
    assert set(record(tmp_path)["versions"]) == {"torch", "transformers", "sentence-transformers"}
