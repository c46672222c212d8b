"""The command line of the grid search, with a fake queue and through DVC's."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from pipeline import grid
from pipeline.grid import START, VALUES
from pipeline.grid_search import request
from pipeline.grid_search.experiments import call
from pipeline.grid_search.request import Request
from tests.grid_search.fakes import Fake, by_size
from tests.test_pipeline import ROOT, Project, make_project

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.grid_search.outcomes import Outcome


def options(tmp_path: Path, *more: str) -> list[str]:
    given = {"--objective": "vicreg_modified", "--profile": "sample", "--out": str(tmp_path)}
    return [word for pair in given.items() for word in pair] + list(more)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--objective", "vicreg_modifed"], "did you mean 'vicreg_modified'? Known: info_nce"),
        (["--profile", "sampel"], "--profile: unknown profile 'sampel'; did you mean 'sample'?"),
        (["--set", "train.steps"], "--set: expected key=value, got 'train.steps'."),
        (["--set", "train.batch_size=3"], "train.batch_size is what the search itself sets"),
        (["--set", "train.stepps=3"], "cannot be composed from conf/ (Could not override"),
        (["--set", "train.steps=2,3"], "Ambiguous value for argument 'train.steps=2,3'"),
        (["--set", "train.steps=0"], "train.steps: 0 is out of range; it must be at least 1"),
        (["--margins", "0.3", "3"], "margin: 3.0 is out of range; it must be at least 0.0"),
        (["--batch-sizes", "1"], "batch_size: 1 is out of range; it must be at least 2"),
        (["--start-temperature", "0"], "temperature: 0.0 is out of range"),
        (["--set", "train.dev=data/absent.csv"], "data/absent.csv is not there"),
        (["--jobs", "0"], "--jobs must be 1 or more"),
    ],
    ids=lambda value: value[1] if isinstance(value, list) and value[0] != "--set" else None,
)
def test_a_mistake_is_one_sentence_and_queues_nothing(
    more: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    assert grid.main(options(tmp_path, *more)) == 1
    told = capsys.readouterr().err
    assert told.startswith("grid: ")
    assert message in told
    assert not list(tmp_path.iterdir())


def test_another_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert grid.main(options(tmp_path)) == 1
    assert "has no .dvc, so it is not the root of a DVC repository" in capsys.readouterr().err


def test_the_whole_command_with_a_fake_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    fake = Fake(by_size)
    monkeypatch.setattr(grid, "DvcExperiments", lambda **_: fake)
    small = ["--batch-sizes", "8", "16", "--learning-rates", "1e-5", "--margins", "0.3", "0.3"]
    assert grid.main(options(tmp_path, *small, "--temperatures", "0.05", "--ratios", "1", "2")) == 0
    told = capsys.readouterr().out
    assert "Stage 1: 2 cells: 2 queued" in told
    assert told.splitlines()[-1].startswith("Carry it into the workspace: dvc exp apply grid-")
    assert len(fake.queued) == 3


def test_ctrl_c_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(name: str) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(grid, "DvcExperiments", lambda **_: Fake(interrupt))
    assert grid.main(options(tmp_path, "--batch-sizes", "8")) == 130
    assert capsys.readouterr().err == f"grid: interrupted; {grid.INTERRUPTED}\n"


def test_data_that_runs_would_lack_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call(["git", "init", "--quiet", str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "senteval/STS/STSBenchmark").mkdir(parents=True)
    (tmp_path / "senteval/STS/STSBenchmark/sts-dev.csv").touch()
    (tmp_path / "corpus.txt").touch()
    composed = {
        "corpus": {"watch": "corpus.txt"},
        "backbone": {"watch": str(ROOT / "backbones")},
        "evaluate": {"data": "senteval"},
        "train": {"dev": "senteval/STS/STSBenchmark/sts-dev.csv"},
    }
    with pytest.raises(ValueError, match=r"corpus: corpus\.txt is not tracked.*--copy-paths"):
        request._check_data(composed, ["senteval"])
    call(["git", "add", "corpus.txt"])
    request._check_data(composed, ["senteval"])
    (tmp_path / "senteval.dvc").touch()
    request._check_data(composed, [])


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path / "project")
    made.done("git", "add", "--all")
    made.done("git", "commit", "--quiet", "--message", "Before any run")
    return made


@pytest.mark.verify
def test_a_tiny_grid_through_dvcs_queue_runs_once(project: Project) -> None:
    command = [
        sys.executable, "-m", "pipeline.grid", "--objective", "vicreg_modified", "--profile",
        "sample", "--out", "results/grid", "--batch-sizes", "8", "--learning-rates", "1e-3", "1e-4",
        "--margins", "0.3", "--temperatures", "0.05", "--ratios", "1", "1.5", "--poll-seconds", "5",
        "--set", "train.steps=2", "train.evaluate_every=1", "evaluate.tasks=sts",
    ]  # fmt: skip
    project.done(*command)
    table = project.folder / "results/grid/vicreg_modified.json"
    first = table.read_bytes()
    cells = [cell for stage in json.loads(first)["stages"] for cell in stage["cells"]]
    assert [cell["state"] for cell in cells] == ["finished"] * 4
    names = {cell["experiment"] for cell in cells}
    assert set(project.done("dvc", "exp", "list", "--name-only").split()) == names
    assert len(names) == 3
    tasks = project.done("dvc", "queue", "status").count("Success")
    assert tasks == 3

    picked = json.loads(first)["stages"][1]["best"]
    project.done("dvc", "exp", "apply", picked["experiment"])
    params = yaml.safe_load((project.folder / "params.yaml").read_text("utf-8"))
    assert params["train"]["learning_rate"] == picked["settings"]["learning_rate"]
    assert params["objectives"]["vicreg_modified"]["ratio"] == picked["settings"]["ratio"]
    metrics = json.loads((project.folder / "metrics/vicreg_modified/42.json").read_text("utf-8"))
    assert metrics["dev_spearman"] == picked["dev_spearman"]

    again = project.done(*command)  # results in the workspace make no other cells
    assert "queued" not in again
    assert "running" not in again
    assert project.done("dvc", "queue", "status").count("Success") == tasks
    assert table.read_bytes() == first


def test_an_objectives_own_train_mapping_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    asked = Request(
        objective="mhs",
        profile="sample",
        seed=42,
        given=("overlay=authors",),
        copy_paths=(),
        values=VALUES,
        start=START,
    )
    found, _ = request.resolve(asked)
    assert found.own == {"learning_rate"}
    assert len(found.commit) == 40
