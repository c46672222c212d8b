"""The grid search: its cells, what it runs, and what it says."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from pipeline import grid
from tests.test_pipeline import ROOT, Project, make_project
from tests.tiny import Refused

SMALL = ["--batch-size", "8", "16", "--learning-rate", "1e-5", "--margin", "0.3"]
SMALL += ["--temperature", "0.05", "--ratio", "1", "1.5", "2"]


class Experiments:
    """Stands for DVC: a cell scores more with the larger batch; ratios 1.5 and 2 are equal."""

    collapse = "never"  # an override that fails

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[Sequence[str]] = []
        self.known: dict[str, float] = {}
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(grid, "run_experiment", self.run)
        monkeypatch.setattr(grid, "dev_scores", lambda _: dict(self.known))

    def run(self, name: str, overrides: Sequence[str]) -> str | None:
        self.ran.append(overrides)
        if self.collapse in overrides:
            return "train: it collapsed."
        larger = "train.batch_size=16" in overrides
        self.known[name] = 70.0 + larger + (overrides[-1].partition("=")[2] in ("1.5", "2.0"))
        return None


@pytest.fixture
def experiments(monkeypatch: pytest.MonkeyPatch) -> Experiments:
    return Experiments(monkeypatch)


def command(*more: str) -> list[str]:
    return ["--objective", "vicreg_modified", *SMALL, *more]


def test_stage_two_searches_at_stage_ones_best(
    experiments: Experiments, capsys: pytest.CaptureFixture[str]
) -> None:
    assert grid.main(command("-S", "train.steps=2")) == 0
    assert len(experiments.ran) == 2 + 3
    assert "train.steps=2" in experiments.ran[0]
    assert [list(overrides[-5:]) for overrides in experiments.ran[2:]] == [
        [
            "train.batch_size=16",
            "train.learning_rate=1e-05",
            "objectives.vicreg_modified.margin=0.3",
            "objectives.vicreg_modified.temperature=0.05",
            f"objectives.vicreg_modified.ratio={ratio}",
        ]
        for ratio in ("1.0", "1.5", "2.0")
    ]
    said = capsys.readouterr().out
    best = next(name for name, dev in experiments.known.items() if dev == 72)  # the first of two
    assert f"{best}: dev 72.00\n" in said
    assert f"Stage 2: the best is {best}, dev 72.00: -S train.batch_size=16 -S" in said
    assert said.endswith(f"dvc exp apply {best}\n")


def test_a_cell_that_fails_is_told_and_the_search_goes_on(
    experiments: Experiments, capsys: pytest.CaptureFixture[str]
) -> None:
    experiments.collapse = "train.batch_size=8"
    assert grid.main(command()) == 0
    assert "failed: train: it collapsed.\n" in capsys.readouterr().out


def test_without_any_finished_cell_the_reason_is_told(
    experiments: Experiments, capsys: pytest.CaptureFixture[str]
) -> None:
    experiments.collapse = "train.learning_rate=1e-05"
    assert grid.main(command()) == 1
    said = capsys.readouterr().err
    assert said.startswith("grid: stage 1: none of 2 cells finished; the first of them: train: it")


def test_ctrl_c_is_one_sentence_and_the_same_command_resumes(
    experiments: Experiments,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(name: str, overrides: Sequence[str]) -> str | None:
        if len(experiments.ran) == 3:
            raise KeyboardInterrupt
        return experiments.run(name, overrides)

    monkeypatch.setattr(grid, "run_experiment", interrupted)
    assert grid.main(command()) == 130
    assert capsys.readouterr().err == (
        "grid: interrupted; the cells that finished are kept, and the same command resumes.\n"
    )
    monkeypatch.setattr(grid, "run_experiment", experiments.run)
    for _ in range(2):
        assert grid.main(command()) == 0
        assert len(experiments.ran) == len(experiments.known) == 5


@pytest.mark.parametrize(
    ("objective", "more", "second"),
    [
        ("vicreg_modified", [], 4 * 3 * 5),
        ("mhs_modified", [], 4 * 5),
        ("info_nce", [], 3),
        ("vicreg", [], 0),
        ("mhs", ["-S", "overlay=authors"], 0),
    ],
)
def test_the_grids_are_the_papers_over_what_the_objective_has(
    experiments: Experiments, objective: str, more: list[str], second: int
) -> None:
    assert grid.main(["--objective", objective, "-S", "profile=paper-bert", *more]) == 0
    assert len(experiments.ran) == 4 * 4 + second
    assert all("evaluate.tasks=STS-B" in overrides for overrides in experiments.ran)
    # Its own `train` mapping would win over `train`.
    own = "objectives.mhs." if objective == "mhs" else ""
    assert f"{own}train.learning_rate=5e-06" in experiments.ran[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--objective", "vicreg_modifed"], "did you mean 'vicreg_modified'? Known: info_nce"),
        (["-S", "profile=sampel"], "cannot be composed from conf/ (In 'config': Could not find"),
        (["-S", "train.steps"], "cannot be composed from conf/"),
        (["-S", "train.stepps=3"], "cannot be composed from conf/ (Could not override"),
        (["-S", "train.batch_size=3"], "the search itself sets this; use its own option."),
        (["-S", "train.steps=0"], "train.steps: 0 is out of range; it must be at least 1"),
        (["--margin", "0.3", "3"], "margin: 3.0 is out of range; it must be at least 0.0"),
        (["--batch-size", "1"], "train.batch_size: 1 is out of range; it must be at least 2"),
        (["--seed", "-1"], "-1 is out of range"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_is_one_sentence_and_runs_nothing(
    experiments: Experiments, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert grid.main(command(*more)) == 1
    told = capsys.readouterr().err
    assert told.startswith("grid: ")
    assert message in told
    assert not experiments.ran


def test_another_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "has no .git, so it is not the root of a DVC repository" in refused(grid.main(command()))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path / "project")
    made.done("git", "add", "--all")
    made.done("git", "commit", "--quiet", "--message", "Before any run")
    return made


@pytest.mark.verify
def test_a_tiny_grid_runs_each_cell_once(project: Project) -> None:
    command = [
        sys.executable, "-m", "pipeline.grid", "--objective", "vicreg_modified",
        "--batch-size", "8", "--learning-rate", "1e6", "1e-3", "--margin", "0.3", "--temperature",
        "0.05", "--ratio", "1.5", "-S", "train.steps=2", "-S", "train.evaluate_every=1",
    ]  # fmt: skip
    said = project.done(*command)
    assert "failed: train: vicreg_modified with seed 42 collapsed: " in said
    finished = {
        line.split(":")[0]: line.split()[-1]
        for line in said.splitlines()
        if line.startswith("grid-") and ": dev " in line
    }
    assert set(project.done("dvc", "exp", "list", "--name-only").split()) == finished.keys()
    assert len(finished) == 2

    picked = said.split()[-1]
    project.done("dvc", "exp", "apply", picked)
    params = yaml.safe_load((project.folder / "params.yaml").read_text("utf-8"))
    assert params["train"]["learning_rate"] == 1e-3
    assert params["objectives"]["vicreg_modified"]["ratio"] == 1.5
    metrics = json.loads((project.folder / "metrics/vicreg_modified/42.json").read_text("utf-8"))
    assert f"{metrics['dev_spearman']:.2f}" == finished[picked]

    again = project.done(*command)  # only what failed is tried again
    assert again.count("Running stage 'train@") == 1
    assert again.split()[-1] == picked
