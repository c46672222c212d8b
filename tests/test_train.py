"""The training stage: same seed same bytes, stopped and resumed too; what cannot work is said."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from pipeline import config
from pipeline.atomic import WriteError
from pipeline.encoder import SentenceEncoder
from pipeline.objectives import OBJECTIVES
from pipeline.senteval.sts import Pairs, read_sts_benchmark
from pipeline.train import main, train
from pipeline.training.curve import COLUMNS
from pipeline.training.dev import CollapseError, DevSet
from pipeline.training.identity import identify
from pipeline.training.places import Places
from pipeline.version import folder_version
from tests.tiny import (
    LONGEST,
    ROOT,
    SAMPLE,
    TRAINING_LENGTH,
    change_json,
    contents,
    prepare_sample,
    write_params,
)
from tests.training.torchrun import torchrun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.params import Params
    from pipeline.training.checkpoint import Progress
    from pipeline.training.display import Report

Changes = Mapping[str, Any] | None

COMPILES = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(r"ignore:.torch\.jit\.script_method. is deprecated"),
    pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf"),
]
STEPS, EVERY = 6, 2  # of tests/tiny.py's settings


@dataclass(frozen=True)
class Lab:
    """A tiny backbone with the sample corpus prepared for it."""

    backbone: Path
    prepared: Path

    def params_file(self, folder: Path, changes: Changes = None) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        own = {f"backbone.{key}": str(self.backbone) for key in ("source", "watch")}
        return write_params(folder / "params.yaml", own | dict(changes or {}))

    def params(self, folder: Path, changes: Changes = None) -> Params:
        return config.load(self.params_file(folder, changes))

    def places(self, folder: Path) -> Places:
        return Places(
            self.prepared,
            folder / "models/model",
            folder / "curve.csv",
            folder / "dynamics.csv",
            folder / "checkpoints",
        )

    def train(
        self,
        folder: Path,
        name: str = "info_nce",
        seed: int = 1,
        report: Report = lambda step, steps, row: None,
        changes: Changes = None,
    ) -> Progress:
        identity = identify(self.params(folder, changes), name, seed, self.prepared)
        return train(identity, dev_set(), self.places(folder), report)

    def main(
        self, folder: Path, name: str = "info_nce", seed: int = 1, changes: Changes = None
    ) -> int:
        return main(self.arguments(folder, name, seed, changes))

    def arguments(self, folder: Path, name: str, seed: int, changes: Changes = None) -> list[str]:
        places = self.places(folder)
        paths = {
            "params": self.params_file(folder, changes),
            "prepared": places.prepared,
            "model": places.model,
            "curve": places.curve,
            "dynamics": places.dynamics,
            "checkpoints": places.checkpoints,
        }
        options = [text for key, path in paths.items() for text in (f"--{key}", str(path))]
        return ["--objective", name, "--seed", str(seed), *options]


def dev_set() -> DevSet:
    """Few pairs, so that evaluating costs little."""
    pairs = read_sts_benchmark(SAMPLE, "dev")
    return DevSet(Pairs("dev", pairs.first[:30], pairs.second[:30], pairs.gold[:30]), 64)


def make_lab(backbone: Path, folder: Path) -> Lab:
    return Lab(backbone, prepare_sample(backbone, folder))


def written(folder: Path) -> dict[str, bytes]:
    """Encoder and tables; checkpoints must be gone."""
    assert not (folder / "checkpoints").exists()
    assert [path.name for path in (folder / "models").iterdir()] == ["model"]
    tables = {name: (folder / name).read_bytes() for name in ("curve.csv", "dynamics.csv")}
    return contents(folder / "models/model") | tables


def record(folder: Path) -> Any:
    return json.loads((folder / "models/model/triad.json").read_text(encoding="utf-8"))


def rows(folder: Path, table: str = "curve.csv") -> list[dict[str, str]]:
    with (folder / table).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


@pytest.fixture(scope="session")
def lab(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return make_lab(tiny_bert, tmp_path_factory.mktemp("bert") / "prepared")


@pytest.fixture(scope="session")
def roberta_lab(tiny_roberta: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return make_lab(tiny_roberta, tmp_path_factory.mktemp("roberta") / "prepared")


@pytest.fixture(scope="module")
def finished(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from start to end; not to be written to."""
    folder = tmp_path_factory.mktemp("finished")
    lab.train(folder)
    return folder


class TestReproduction:
    def test_the_same_seed_gives_the_same_bytes(
        self, lab: Lab, finished: Path, tmp_path: Path
    ) -> None:
        torch.manual_seed(77)  # what came before does not matter
        lab.train(tmp_path)
        assert written(tmp_path) == written(finished)
        model = "models/model"
        assert folder_version(tmp_path / model) == folder_version(finished / model)

    @pytest.mark.parametrize("head", ["mlp", "linear"])
    def test_another_seed_gives_other_weights(
        self, lab: Lab, finished: Path, tmp_path: Path, head: str
    ) -> None:
        lab.train(tmp_path, seed=2, changes={"train.head": head})
        one, other = written(tmp_path), written(finished)
        assert one["model.safetensors"] != other["model.safetensors"]
        assert one["curve.csv"] != other["curve.csv"]

    def test_a_second_run_replaces_the_first(
        self, lab: Lab, finished: Path, tmp_path: Path
    ) -> None:
        lab.train(tmp_path, "vicreg")
        (tmp_path / "models/model/stray").touch()
        lab.train(tmp_path)
        assert written(tmp_path) == written(finished)


class TestDynamics:
    def test_there_is_a_row_at_each_interval_and_at_the_last_step(
        self, lab: Lab, tmp_path: Path
    ) -> None:
        changes = {"train.record_every": 4, "train.evaluate_every": 3}
        lab.train(tmp_path, changes=changes)
        assert [row["step"] for row in rows(tmp_path, "dynamics.csv")] == ["4", "6"]
        assert [row["step"] for row in rows(tmp_path)] == ["3", "6"]

    def test_at_the_same_step_both_tables_say_the_same(self, finished: Path) -> None:
        by_step = {row["step"]: row for row in rows(finished, "dynamics.csv")}
        for row in rows(finished):
            same = row.keys() & by_step[row["step"]].keys()
            assert {"dissipation", "positive_cosine"} < same
            assert {key: row[key] for key in same} == {
                key: by_step[row["step"]][key] for key in same
            }

    def test_recording_changes_no_weight(self, lab: Lab, finished: Path, tmp_path: Path) -> None:
        lab.train(tmp_path, changes={"train.record_every": 5})
        assert written(tmp_path)["model.safetensors"] == written(finished)["model.safetensors"]


class TestVariants:
    CHANGES: ClassVar[dict[str, Any]] = {
        "objectives.gentle": {"variant_of": "vicreg", "covariance_coefficient": 3.0}
    }

    def test_a_variant_is_trained_by_its_name_and_says_what_it_varies(
        self, lab: Lab, tmp_path: Path
    ) -> None:
        lab.train(tmp_path, "gentle", changes=self.CHANGES)
        told = record(tmp_path)
        assert (told["objective"], told["variant_of"]) == ("gentle", "vicreg")
        assert told["hyperparameters"] == {"covariance_coefficient": 3.0}

    def test_what_is_no_variant_names_none(self, finished: Path) -> None:
        assert "variant_of" not in record(finished)


class TestShorterRuns:
    def test_the_command_line_may_replace_the_steps(self, lab: Lab, tmp_path: Path) -> None:
        options = ["--steps", "3", "--evaluate-every", "1", "--record-every", "2"]
        assert main([*lab.arguments(tmp_path, "info_nce", 1), *options]) == 0
        assert [row["step"] for row in rows(tmp_path)] == ["1", "2", "3"]
        assert [row["step"] for row in rows(tmp_path, "dynamics.csv")] == ["2", "3"]
        assert record(tmp_path)["training"]["steps"] == 3

    @pytest.mark.parametrize("given", ["0", "-1", "some"])
    def test_no_steps_are_refused(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str
    ) -> None:
        with pytest.raises(SystemExit):
            main([*lab.arguments(tmp_path, "info_nce", 1), "--steps", given])
        assert "--steps" in capsys.readouterr().err


class Interrupted:
    """A report that stops the run at a step and remembers where calls began."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.steps: list[int] = []

    def __call__(self, step: int, steps: int, row: Mapping[str, float] | None) -> None:
        self.steps.append(step)
        assert steps == STEPS
        if step == self.at:
            raise KeyboardInterrupt


def resumed_equals(lab: Lab, finished: Path, folder: Path) -> int:
    """Go on to the end; the step that it went on from."""
    torch.manual_seed(99)
    report = Interrupted(at=None)
    lab.train(folder, report=report)
    assert written(folder) == written(finished)
    assert report.steps == list(range(report.steps[0], STEPS + 1))
    return report.steps[0]


class TestInterruption:
    @pytest.mark.parametrize("step", range(STEPS + 1))
    def test_a_run_stopped_at_any_step_ends_as_if_it_had_not_been(
        self, lab: Lab, finished: Path, tmp_path: Path, step: int
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            lab.train(tmp_path, report=Interrupted(at=step))
        assert not (tmp_path / "models").exists()
        assert not (tmp_path / "curve.csv").exists()
        assert resumed_equals(lab, finished, tmp_path) == step - step % EVERY

    def test_it_may_be_stopped_again_and_again(
        self, lab: Lab, finished: Path, tmp_path: Path
    ) -> None:
        for step in (1, 3, 3, 5):
            with pytest.raises(KeyboardInterrupt):
                lab.train(tmp_path, report=Interrupted(at=step))
        assert resumed_equals(lab, finished, tmp_path) == 4

    @pytest.mark.parametrize(
        "changes",
        [
            {"train.chunk_size": 3},
            {"train.precision": "bf16"},
            pytest.param({"train.compile": "on"}, marks=COMPILES),
        ],
        ids=["cached", "bf16", "compiled"],
    )
    def test_every_way_to_compute_a_step_resumes(
        self, lab: Lab, tmp_path: Path, changes: Changes
    ) -> None:
        whole, stopped = tmp_path / "whole", tmp_path / "stopped"
        lab.train(whole, changes=changes)
        with pytest.raises(KeyboardInterrupt):
            lab.train(stopped, report=Interrupted(at=3), changes=changes)
        torch.manual_seed(99)
        lab.train(stopped, changes=changes)
        assert written(stopped) == written(whole)

    @pytest.mark.parametrize(
        "place",
        [
            "pipeline.training.checkpoint.Checkpoints.save_best",
            "pipeline.training.checkpoint.Checkpoints.save",
            "pipeline.training.checkpoint.Checkpoints.load_best",
            "pipeline.encoder.SentenceEncoder.save",
            "pipeline.train.write_record",
            "pipeline.training.checkpoint.Checkpoints.remove",
        ],
    )
    def test_it_may_be_stopped_while_it_writes(
        self,
        lab: Lab,
        finished: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        place: str,
    ) -> None:
        def stop(*arguments: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(place, stop)
            with pytest.raises(KeyboardInterrupt):
                lab.train(tmp_path)
        resumed_equals(lab, finished, tmp_path)

    def test_other_settings_start_anew(self, lab: Lab, finished: Path, tmp_path: Path) -> None:
        with pytest.raises(KeyboardInterrupt):
            lab.train(tmp_path, report=Interrupted(at=5), changes={"train.learning_rate": 2e-3})
        assert resumed_equals(lab, finished, tmp_path) == 0

    def test_another_dev_set_starts_anew(
        self, lab: Lab, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(DevSet, "version", "of other pairs")
            with pytest.raises(KeyboardInterrupt):
                lab.train(tmp_path, report=Interrupted(at=5))
        assert resumed_equals(lab, finished, tmp_path) == 0

    def test_a_damaged_checkpoint_is_one_sentence(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "checkpoints").mkdir()
        (tmp_path / "checkpoints/last.pt").write_bytes(b"half of i")
        assert lab.main(tmp_path) == 1
        assert "last.pt: damaged" in one_line(capsys)

    def test_ctrl_c_says_how_to_go_on(
        self,
        lab: Lab,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        @contextmanager
        def interrupted(name: str, *, shown: bool) -> Iterator[Report]:
            yield Interrupted(at=3)

        monkeypatch.setattr("pipeline.train.progress_bar", interrupted)
        assert lab.main(tmp_path) == 130
        assert "interrupted; the same command resumes from" in one_line(capsys)

    @pytest.mark.slow
    def test_a_killed_process_is_resumed(self, lab: Lab, tmp_path: Path) -> None:
        """SIGKILL in the middle of step 5; the rest in another process."""
        folder, whole = tmp_path / "killed", tmp_path / "whole"
        code = (
            "import contextlib, os, signal, sys\n"
            "from pipeline import train\n"
            "def report(step, steps, row):\n"
            f"    if step == 5: os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
            "train.progress_bar = lambda name, shown: contextlib.nullcontext(report)\n"
            "sys.exit(train.main(sys.argv[1:]))\n"
        )
        command = [sys.executable, "-c", code, *lab.arguments(folder, "info_nce", 1)]
        threads = {"OMP_NUM_THREADS": str(torch.get_num_threads())}
        killed = subprocess.run(command, cwd=ROOT, env=os.environ | threads, check=False)
        assert killed.returncode == -signal.SIGKILL
        assert (folder / "checkpoints/last.pt").is_file()
        assert not (folder / "models").exists()
        assert lab.main(folder) == lab.main(whole) == 0
        assert written(folder) == written(whole)


@pytest.mark.slow
class TestSeveralProcesses:
    """Two under torchrun; what they compute is checked in tests/training/test_processes.py."""

    def test_they_write_one_encoder_and_resume_as_one_process_does(
        self, lab: Lab, tmp_path: Path
    ) -> None:
        changes = {"train.chunk_size": 2}
        for name in ("whole", "killed"):
            (tmp_path / name).mkdir()
        whole = self.run(lab, tmp_path / "whole", changes, "main(sys.argv[1:])")
        assert whole.returncode == 0, whole.stderr
        assert whole.stdout.count("dev Spearman") == 1 + STEPS // EVERY
        assert record(tmp_path / "whole")["hardware"].startswith("2 x cpu")
        dies = (
            "from pipeline.training.monitor import Monitor\n"
            "see = Monitor.see\n"
            "def dying(self, step, outcome):\n"
            f"    if step == 5: os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
            "    see(self, step, outcome)\n"
            "Monitor.see = dying\n"
            "main(sys.argv[1:])"
        )
        killed = self.run(lab, tmp_path / "killed", changes, dies)
        assert killed.returncode != 0
        assert not (tmp_path / "killed/models").exists()
        resumed = self.run(lab, tmp_path / "killed", changes, "main(sys.argv[1:])")
        assert "step 2/" not in resumed.stdout
        assert written(tmp_path / "killed") == written(tmp_path / "whole")

    def test_a_batch_that_they_cannot_share_is_refused(self, lab: Lab, tmp_path: Path) -> None:
        done = self.run(lab, tmp_path, {"train.batch_size": 9}, "sys.exit(main(sys.argv[1:]))")
        assert done.returncode != 0
        assert "train: train.batch_size: must be a multiple of the 2 processes" in done.stderr

    def run(
        self, lab: Lab, folder: Path, changes: Changes, code: str
    ) -> subprocess.CompletedProcess[str]:
        program = folder / "program.py"
        text = f"import os, sys\nfrom pipeline.train import main\n{code}\n"
        program.write_text(text, encoding="utf-8")
        done = torchrun(str(program), *lab.arguments(folder, "vicreg_modified", 1, changes))
        program.unlink()
        return done


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr."""
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("train: ")
    return str(line)


class TestRuns:
    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_every_objective_trains(self, lab: Lab, tmp_path: Path, name: str) -> None:
        fields = dataclasses.asdict(OBJECTIVES[name]())
        changes = {"train.steps": 3, "train.evaluate_every": 3, "objectives": {name: fields}}
        progress = lab.train(tmp_path, name, changes=changes | {"runs.objectives": [name]})
        (row,) = rows(tmp_path)
        assert tuple(row) == COLUMNS
        undefined = {key for key, value in row.items() if value == ""}
        assert undefined <= ({"hardest_share", "ratio"} if row["dissipation"] == "0.0" else set())
        assert all(np.isfinite(float(value)) for value in row.values() if value)
        assert progress.best_step == 3
        before, after = weights(lab.backbone), weights(tmp_path / "models/model")
        assert any(not torch.equal(before[key], after[key]) for key in before)

    @pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
    def test_roberta_and_any_pooling_train(
        self, roberta_lab: Lab, tmp_path: Path, pooling: str
    ) -> None:
        roberta_lab.train(tmp_path, changes={"backbone.pooling": pooling})
        model = tmp_path / "models/model"
        ours = SentenceEncoder.load(model, "cpu")
        assert ours.layout.pooling == pooling
        theirs = SentenceTransformer(str(model), device="cpu")
        sentences = ["A sentence.", "Another one, which is longer."]
        assert np.abs(ours.encode(sentences) - theirs.encode(sentences)).max() < 1e-5

    def test_bf16_trains(self, lab: Lab, tmp_path: Path) -> None:
        lab.train(tmp_path, changes={"train.precision": "bf16", "train.steps": 2})
        saved = weights(tmp_path / "models/model")
        assert {tensor.dtype for tensor in saved.values()} == {torch.float32}

    def test_the_loss_falls(self, lab: Lab, tmp_path: Path) -> None:
        lab.train(tmp_path, changes={"train.steps": 30, "train.evaluate_every": 15})
        first, second = (float(row["loss"]) for row in rows(tmp_path))
        assert second < first

    def test_epochs_count_where_steps_are_not_given(self, lab: Lab, tmp_path: Path) -> None:
        def stop(step: int, steps: int, row: Mapping[str, float] | None) -> None:
            assert steps == 9  # 3 * (2,620 sentences // 800)
            raise KeyboardInterrupt

        changes = {"train.steps": None, "train.epochs": 3, "train.batch_size": 800}
        with pytest.raises(KeyboardInterrupt):
            lab.train(tmp_path, report=stop, changes=changes)

    def test_the_optimiser_gets_the_settings_and_its_rate_falls_linearly(
        self, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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

    def test_evaluations_are_every_k_steps_and_at_the_end(self, lab: Lab, tmp_path: Path) -> None:
        lab.train(tmp_path, changes={"train.steps": 5})
        assert [row["step"] for row in rows(tmp_path)] == ["2", "4", "5"]

    def test_the_best_step_is_what_is_saved(self, lab: Lab, finished: Path, tmp_path: Path) -> None:
        scores = [float(row["dev_spearman"]) for row in rows(finished)]
        best = record(finished)["best"]
        assert best["dev_spearman"] == max(scores)
        assert best["step"] == EVERY * (1 + scores.index(max(scores)))
        saved = dev_set().scorer(SentenceEncoder.load(finished / "models/model", "cpu"))()
        assert saved == pytest.approx(max(scores), abs=1e-4)

    def test_frozen_embeddings_do_not_move(self, lab: Lab, finished: Path, tmp_path: Path) -> None:
        lab.train(tmp_path, changes={"train.freeze_embeddings": True, "train.weight_decay": 0.1})
        before = weights(lab.backbone)
        frozen = weights(tmp_path / "models/model")
        free = weights(finished / "models/model")
        tables = {key for key in before if key.startswith("embeddings.")}
        assert {key for key in before if torch.equal(before[key], frozen[key])} == tables
        table = "embeddings.word_embeddings.weight"
        assert not torch.equal(before[table], free[table])

    def test_the_saved_maximum_length_is_the_backbones(self, finished: Path) -> None:
        text = (finished / "models/model/sentence_bert_config.json").read_text(encoding="utf-8")
        assert json.loads(text)["max_seq_length"] == LONGEST != TRAINING_LENGTH

    def test_an_objectives_own_learning_rate_is_used(self, lab: Lab, tmp_path: Path) -> None:
        lab.train(tmp_path, changes={"objectives.info_nce.train": {"learning_rate": 1e-12}})
        assert record(tmp_path)["training"]["learning_rate"] == 1e-12
        before, after = weights(lab.backbone), weights(tmp_path / "models/model")
        for key, tensor in before.items():
            assert torch.allclose(after[key], tensor, rtol=0, atol=1e-9)


class TestRecord:
    def test_it_says_what_made_the_encoder(self, lab: Lab, finished: Path) -> None:
        told = record(finished)
        assert told["objective"] == "info_nce"
        assert told["hyperparameters"] == {"temperature": 0.05}
        assert told["seed"] == 1
        assert told["training"]["learning_rate"] == 1e-3
        assert told["training"]["steps"] == told["steps"] == STEPS
        assert told["backbone"] == {
            "source": str(lab.backbone),
            "pooling": "cls",
            "version": folder_version(lab.backbone),
        }
        meta = json.loads((lab.prepared / "meta.json").read_text(encoding="utf-8"))
        assert told["data"]["hash"] == meta["data_hash"]
        assert told["versions"]["torch"] == torch.__version__
        assert told["hardware"].startswith("cpu, ")
        assert [row["step"] for row in told["curve"]] == [2, 4, 6]

    def test_it_holds_no_times_and_nothing_else(self, finished: Path) -> None:
        named = "backbone best curve data hardware hyperparameters objective seed steps training"
        assert sorted(record(finished)) == sorted([*named.split(), "versions"])

    def test_the_model_card_shows_the_settings(self, finished: Path) -> None:
        card = (finished / "models/model/README.md").read_text(encoding="utf-8")
        assert "# info_nce-1\n" in card
        assert "| temperature | 0.05 |" in card
        assert "on 2,620 sentences" in card


class TestMain:
    def test_it_says_what_was_reached_and_where_it_lies(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert lab.main(tmp_path) == 0
        *_, last = capsys.readouterr().out.splitlines()
        best = record(tmp_path)["best"]
        assert last == (
            f"info_nce-1: dev Spearman {best['dev_spearman']:.2f} at step {best['step']}, "
            f"{float(rows(tmp_path)[-1]['dev_spearman']):.2f} at the last, written to "
            f"{tmp_path / 'models/model'}"
        )
        written(tmp_path)

    @pytest.mark.parametrize("name", ["info_nce", "vicreg"])
    def test_a_collapse_is_explained_and_writes_nothing(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        assert lab.main(tmp_path, name, changes={"train.learning_rate": 1e6}) == 1
        line = one_line(capsys)
        assert line.startswith(f"train: {name} with seed 1 collapsed: ")
        assert "Try a lower learning rate (now 1000000.0), or another margin" in line
        assert not (tmp_path / "models").exists()
        assert not (tmp_path / "curve.csv").exists()

    def test_embeddings_that_are_not_finite_stop_the_run(
        self, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def spoil(parameters: list[torch.nn.Parameter], limit: float) -> None:
            torch.nn.init.constant_(parameters[-1], float("nan"))

        with monkeypatch.context() as patch:
            patch.setattr("pipeline.training.step.clip_grad_norm_", spoil)
            with pytest.raises(
                ValueError, match="embeddings became NaN or infinite between steps 0 and 6"
            ):
                lab.train(tmp_path, changes={"train.evaluate_every": 6})
        assert not (tmp_path / "models").exists()

    def test_a_collapse_keeps_the_encoder_of_an_earlier_run(
        self, lab: Lab, finished: Path, tmp_path: Path
    ) -> None:
        lab.train(tmp_path)
        with pytest.raises((CollapseError, ValueError)):
            lab.train(tmp_path, changes={"train.learning_rate": 1e6})
        assert contents(tmp_path / "models/model") == contents(finished / "models/model")

    def test_a_backbone_without_dropout_is_refused(
        self, own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        change_json(own / "config.json", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        assert make_lab(own, tmp_path / "prepared").main(tmp_path) == 1
        assert f"backbone.source: {own} has no dropout" in one_line(capsys)

    def test_an_unknown_objective_is_told_the_nearest_name(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert lab.main(tmp_path, "vicregg") == 1
        expected = "unknown objective 'vicregg'; did you mean 'vicreg'? Known: info_nce, vicreg,"
        assert expected in one_line(capsys)

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"train.max_length": 9}, "length 16, but params.yaml says"),
            ({"train.batch_size": 9999}, "2620 sentences are fewer than one batch"),
            ({"train.device": "cuda:99"}, "device: 'cuda:99' cannot be used here"),
            ({"train.device": "meta"}, "device: 'meta' cannot be used here"),
            ({"evaluate.data": "nowhere"}, "nowhere"),
        ],
    )
    def test_what_cannot_work_is_one_sentence(
        self,
        lab: Lab,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        changes: dict[str, Any],
        expected: str,
    ) -> None:
        assert lab.main(tmp_path, changes=changes) == 1
        assert expected in one_line(capsys)
        assert [path.name for path in tmp_path.iterdir()] == ["params.yaml"]

    @pytest.mark.parametrize("seed", [-1, 2**32])
    def test_a_seed_out_of_range_is_refused(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
    ) -> None:
        assert lab.main(tmp_path, seed=seed) == 1
        assert f"--seed: {seed} is out of range; give a whole number from 0" in one_line(capsys)

    def test_a_model_folder_of_something_else_is_refused_and_kept(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        thesis = tmp_path / "models/model/thesis.txt"
        thesis.parent.mkdir(parents=True)
        thesis.touch()
        assert lab.main(tmp_path) == 1
        assert "is no encoder of Triad's" in one_line(capsys)
        with pytest.raises(WriteError, match="is no encoder of Triad's"):
            lab.train(tmp_path)
        assert thesis.exists()

    def test_other_files_among_the_checkpoints_are_kept(self, lab: Lab, tmp_path: Path) -> None:
        thesis = tmp_path / "checkpoints/thesis.txt"
        thesis.parent.mkdir()
        thesis.touch()
        lab.train(tmp_path)
        assert list(thesis.parent.iterdir()) == [thesis]

    def test_a_full_disk_leaves_neither_encoder_nor_curve_and_can_be_resumed(
        self, lab: Lab, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError("No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("pipeline.train.write_record", full)
            with pytest.raises(WriteError, match="model: cannot be written"):
                lab.train(tmp_path)
        assert list((tmp_path / "models").iterdir()) == []
        assert not (tmp_path / "curve.csv").exists()
        lab.train(tmp_path)
        assert written(tmp_path) == written(finished)

    def test_data_prepared_for_another_backbone_is_refused(
        self, lab: Lab, roberta_lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert Lab(lab.backbone, roberta_lab.prepared).main(tmp_path) == 1
        assert "run `dvc repro prepare`" in one_line(capsys)

    def test_nothing_prepared_is_refused(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert Lab(lab.backbone, tmp_path / "none").main(tmp_path) == 1
        assert "meta.json is missing" in one_line(capsys)

    def test_a_wrong_params_file_is_refused(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert lab.main(tmp_path, changes={"train.head": "none"}) == 1
        assert "train.head: expected one of" in capsys.readouterr().err
