"""The benchmark of training steps on the tiny backbone: what it counts, compares and reports."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from benchmarks.train_peers import contestants, overheads, rounds
from benchmarks.train_peers.arithmetic import Shape, padded
from benchmarks.train_peers.contestants import OURS, PEERS, by_default, obstacle
from benchmarks.train_peers.ours import Ours
from benchmarks.train_peers.plain import Plain, info_nce
from benchmarks.train_peers.precision import lacking, multiplying
from benchmarks.train_peers.sentences import LENGTH, read
from benchmarks.train_peers.sizes import EMBEDDED, SIZES
from benchmarks.train_peers.task import TEMPERATURE, Loop, Task, train_settings
from benchmarks.train_peers.trainer import Trainer, missing
from benchmarks.train_step import main
from pipeline.data.tokenizing import load_tokenizer
from pipeline.objectives import OBJECTIVES
from tests.tiny import ROOT, TRAINING_LENGTH, WIDTH, prepare_sample

if TYPE_CHECKING:
    from pathlib import Path

CPU = torch.device("cpu")
BATCH = 8
needs_trainer = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def prepared(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_sample(tiny_bert, tmp_path_factory.mktemp("train-step") / "prepared")


@pytest.fixture
def task(tiny_bert: Path, prepared: Path, tmp_path: Path) -> Task:
    settings = train_settings(BATCH, TRAINING_LENGTH, CPU)
    return Task(tiny_bert, read(prepared, tmp_path, BATCH), settings, CPU, steps=4)


@pytest.fixture
def tiny_size(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "tiny", lambda folder: shutil.copytree(tiny_bert, folder))
    monkeypatch.setattr("benchmarks.train_peers.peak._SIDE", {"cpu": 64})
    monkeypatch.setattr(overheads, "BATCH", 16)


def test_a_step_of_two_layers_counted_by_hand() -> None:
    """Width 2, inner 3, rows 4 of length 5, so 20 tokens and 2 pairs.

    A layer: 20 (8 * 4 + 4 * 2 * 3) + 4 * 4 * 25 * 2 = 1120 + 800. The last one:
    4 (4 * 4 + 24) + 20 * 4 * 4 + 4 * 4 * 5 * 2 = 160 + 320 + 160. The head: 2 * 4 * 4 = 32.
    Three times 2592, and cosines 6 * 4 * 2 = 48.
    """
    shape = Shape(layers=2, width=2, inner=3)
    assert shape.forward(4, 5) == 1920 + 640 + 32
    assert shape.step([(4, 5)]) == 3 * 2592 + 48


def test_passes_are_those_that_the_network_makes(task: Task) -> None:
    ours = Ours(task)
    rows = task.timed_batches()[0]
    lengths = task.sentences.tokens.lengths[rows]
    assert padded(ours.network, *task.cut(rows)) == [(2 * BATCH, int(lengths.max()))]
    ids = torch.ones(128, 9, dtype=torch.long)
    mask = (torch.arange(9) < torch.tensor([3] * 64 + [9] * 64)[:, None]).long()
    assert padded(ours.network, ids, mask) == [(64, 3), (64, 9)]
    assert ours.network.embed == ours.network.whole_batch


def test_all_contestants_minimise_one_loss() -> None:
    anchor, positive = torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(1))
    ours = OBJECTIVES["info_nce"](temperature=TEMPERATURE)(anchor, positive)
    torch.testing.assert_close(info_nce(torch.cat([anchor, positive])), ours)


@pytest.mark.parametrize("kind", ["ours", "plain"])
def test_steps_change_the_weights(kind: str, task: Task) -> None:
    loop: Loop = Ours(task) if kind == "ours" else Plain(task, "fp32", compiled=False)
    parameters = loop.network.parameters() if isinstance(loop, Ours | Plain) else ()
    before = [(parameter, parameter.detach().clone()) for parameter in parameters]
    assert loop.warm_up() > 0
    assert loop.seconds(2) > 0
    assert sum(not torch.equal(now, then) for now, then in before) > len(before) / 2


def test_first_batches_bring_every_length_that_is_timed(task: Task) -> None:
    lengths = task.sentences.tokens.lengths
    timed = {int(lengths[rows].max()) for rows in task.timed_batches()}
    assert timed == {int(lengths[rows].max()) for rows in task.first_batches()}


def test_texts_give_the_ids_that_they_came_from(tmp_path: Path) -> None:
    """So the trainer, which tokenises them again, has the same work."""
    sentences = read(None, tmp_path, BATCH)
    assert sentences.source == "data/sample/corpus.txt"
    tokenizer, _ = load_tokenizer(str(EMBEDDED), LENGTH)
    rows = np.arange(200)
    for row, text in zip(rows, sentences.texts(rows, EMBEDDED), strict=True):
        assert tokenizer.encode(text).ids == sentences.tokens[int(row)].tolist()


def test_float32_products_are_exact_again_after_tf32() -> None:
    before = torch.get_float32_matmul_precision()
    with multiplying("tf32"):
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before


def test_a_cpu_says_why_it_leaves_peers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.machine.device._has_bf16", lambda device: False)
    assert "CUDA" in obstacle("eager-tf32", CPU)
    assert "avx512_bf16" in obstacle("compile-bf16", CPU)
    assert lacking("fp32", CPU) == obstacle("eager-fp32", CPU) == ""
    monkeypatch.setattr(contestants, "missing", lambda: "datasets is not installed")
    assert obstacle("trainer-fp32", CPU) == "datasets is not installed"


def test_a_gpu_compiles_in_bf16_alone() -> None:
    assert set(PEERS) - set(by_default(torch.device("cuda"))) == {"compile-fp32"}
    assert by_default(CPU) == list(PEERS)


@pytest.mark.usefixtures("tiny_size")
def test_a_run_writes_all_figures(
    prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, markdown = tmp_path / "out.json", tmp_path / "out.md"
    given = ["--device", "cpu", "--sizes", "tiny", "--prepared", str(prepared), "--batch-size", "8"]
    given += ["--peers", "eager-fp32,eager-tf32", "--rounds", "2", "--steps", "2", "--overheads"]
    assert main([*given, "--out", str(out), "--markdown", str(markdown)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    size = result["sizes"]["tiny"]
    assert set(size["contestants"]) == {OURS, "eager-fp32"}
    assert "CUDA" in size["not_run"]["eager-tf32"]
    for one in size["contestants"].values():
        check_contestant(one)
    assert size["contestants"][OURS]["ours_faster"]["rounds"] == [1.0, 1.0]
    assert size["arithmetic"]["width"] == WIDTH
    assert list(size["overheads"]["objectives"]) == list(OBJECTIVES)
    assert size["overheads"]["batch_size"] == 16
    printed = capsys.readouterr().out
    for text in (printed, markdown.read_text(encoding="utf-8")):
        assert "plain loop, fp32" in text
        assert "eager-tf32: TF32 is a format of CUDA devices" in text
        assert "includes tokenising" in text
        assert "vicreg_modified" in text


def check_contestant(one: dict[str, Any]) -> None:
    """Figures that follow from others; no time is held to anything."""
    step = one["step_ms"]
    assert len(step["rounds"]) == 2
    assert step["min"] <= step["median"] <= step["max"]
    assert one["sentences_per_second"] == pytest.approx(BATCH * 1000 / step["median"])
    assert one["seconds_for_a_million"] * one["sentences_per_second"] == pytest.approx(1e6)
    assert one["share_of_peak"] > 0
    assert one["compile_seconds"] is None
    assert one["peak_mib"] is None


def test_a_peer_that_fails_is_named_and_the_others_go_on(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = contestants.build

    def failing(name: str, task: Task, folder: Path) -> Any:
        if name == OURS:
            return build(name, task, folder)
        raise RuntimeError("no room.\nand more")

    monkeypatch.setattr(rounds, "build", failing)
    monkeypatch.setattr("benchmarks.train_peers.peak._SIDE", {"cpu": 64})
    contest = rounds.Contest(task, ["eager-fp32"], tmp_path)
    contest.run(rounds=2, steps=2)
    assert contest.not_run == {"eager-fp32": "RuntimeError: no room"}
    assert list(contest.seconds) == [OURS]


@needs_trainer
def test_the_trainer_takes_its_steps(task: Task, tmp_path: Path) -> None:
    trainer = Trainer(task, bf16=False, folder=tmp_path / "trainer")
    assert trainer.warm_up() > 0
    assert trainer.seconds(2) > 0


@needs_trainer
def test_one_training_of_the_trainer_leaves_no_precision_to_the_next(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    load = Trainer._model

    def watched(trainer: Trainer, library: Any) -> Any:
        model = load(trainer, library)
        model[0].register_forward_hook(lambda *_: seen.append(torch.is_autocast_enabled("cpu")))
        return model

    monkeypatch.setattr(Trainer, "_model", watched)
    for bf16 in (True, False):
        seen.clear()
        Trainer(task, bf16=bf16, folder=tmp_path / "trainer").seconds(1)
        assert len(seen) == 2 * 3  # two views in two first steps and one more
        assert set(seen) == {bf16}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--sizes", "bert-bas"], "unknown size 'bert-bas'; did you mean 'bert-base'?"),
        (["--peers", "eager"], "unknown peer 'eager'"),
        (["--objectives", "vicregg"], "unknown objective 'vicregg'; did you mean 'vicreg'?"),
        (["--batch-size", "1"], "'1' is out of range; give 2 or more"),
        (["--steps", "none"], "'none' is out of range; give 1 or more"),
    ],
)
def test_options_that_are_wrong_are_named(
    given: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(given)
    assert sentence in capsys.readouterr().err


def test_too_few_sentences_are_one_sentence(
    prepared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--device", "cpu", "--prepared", str(prepared), "--batch-size", "9999"]
    assert main(given) == 1
    assert "sentences are fewer than a batch of 9999" in capsys.readouterr().err


def test_a_corpus_of_another_tokenizer_is_refused(
    prepared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--device", "cpu", "--prepared", str(prepared), "--batch-size", "8"]
    assert main([*given, "--sizes", "embedded"]) == 1
    error = capsys.readouterr().err
    assert "made with a vocabulary of 500, but embedded has 16000" in error


BARE = """
import shutil, sys

# A bare GPU image has none of these; None: as if not installed.
absent = "accelerate bentoml datasets dvc gradio hydra matplotlib pandas psutil pyarrow"
sys.modules.update(dict.fromkeys([*absent.split(), "sentence_transformers"]))
from benchmarks.train_peers import peak, sizes
from benchmarks.train_step import main

peak._SIDE = {"cpu": 64}
sizes.SIZES["tiny"] = lambda folder: shutil.copytree(sys.argv[1], folder)
given = ["--device", "cpu", "--sizes", "tiny", "--prepared", sys.argv[2], "--batch-size", "8"]
sys.exit(main([*given, "--peers", "trainer-fp32", "--rounds", "1", "--steps", "1"]))
"""


def test_it_runs_on_a_bare_gpu_image(tiny_bert: Path, prepared: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", BARE, str(tiny_bert), str(prepared)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    expected = "sentence_transformers and datasets and accelerate are not installed"
    assert expected in run.stdout
