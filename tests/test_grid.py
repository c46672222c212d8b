"""The grid search: its cells, its tables, what it runs, and what it says."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pipeline import grid
from tests.test_pipeline import ROOT, Project, make_project

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SMALL = ["--batch-size", "8", "16", "--learning-rate", "1e-5", "--margin", "0.3"]
SMALL += ["--temperature", "0.05", "--ratio", "1", "1.5", "2"]


class Experiments:
    """Stands for DVC: a cell scores more with the larger batch; ratios 1.5 and 2 are equal."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, collapse: str = "never") -> None:
        self.collapse = collapse
        self.ran: list[Sequence[str]] = []
        self.known: dict[str, float] = {}
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(grid, "run_experiment", self.run)
        monkeypatch.setattr(grid.Search, "scores", lambda _: dict(self.known))

    def run(self, name: str, overrides: Sequence[str]) -> str | None:
        self.ran.append(overrides)
        if self.collapse in overrides:
            return "train: it collapsed | NaN."
        larger = "train.batch_size=16" in overrides
        self.known[name] = 70.0 + larger + (overrides[-1].partition("=")[2] in ("1.5", "2.0"))
        return None


def command(folder: Path, *more: str) -> list[str]:
    return ["--objective", "vicreg_modified", "--out", str(folder), *SMALL, *more]


def tables(folder: Path) -> tuple[Any, str]:
    path = folder / "vicreg_modified.json"
    return json.loads(path.read_text("utf-8")), path.with_suffix(".md").read_text("utf-8")


def test_stage_two_searches_at_stage_ones_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    experiments = Experiments(monkeypatch)
    assert grid.main(command(tmp_path, "-S", "train.steps=2")) == 0
    assert [len(stage) for stage in tables(tmp_path)[0]["stages"]] == [2, 3]
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
    best = tables(tmp_path)[0]["stages"][1][1]  # the first of two equal ones
    assert capsys.readouterr().out.endswith(f"dvc exp apply {best['name']}\n")
    bold = [line for line in tables(tmp_path)[1].splitlines() if "**72.00**" in line]
    assert [line.split("`")[1] for line in bold] == [best["name"]]


def test_a_cell_that_fails_is_told_and_the_search_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Experiments(monkeypatch, collapse="train.batch_size=8")
    assert grid.main(command(tmp_path)) == 0
    assert "failed: train: it collapsed | NaN.\n" in capsys.readouterr().out
    content, text = tables(tmp_path)
    assert content["stages"][0][0]["dev"] is None
    assert r"| train: it collapsed \| NaN. | 8 | 1e-05 |  |" in text


def test_without_any_finished_cell_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Experiments(monkeypatch, collapse="train.learning_rate=1e-05")
    assert grid.main(command(tmp_path)) == 1
    said = capsys.readouterr().err
    assert said.startswith("grid: stage 1: none of 2 cells finished; the first of them: train: it")


def test_ctrl_c_is_one_sentence_and_the_same_command_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    experiments = Experiments(monkeypatch)

    def interrupted(name: str, overrides: Sequence[str]) -> str | None:
        if len(experiments.ran) == 3:
            raise KeyboardInterrupt
        return experiments.run(name, overrides)

    monkeypatch.setattr(grid, "run_experiment", interrupted)
    assert grid.main(command(tmp_path)) == 130
    assert capsys.readouterr().err == (
        "grid: interrupted; the cells that finished are kept, and the same command resumes.\n"
    )
    assert len(tables(tmp_path)[0]["stages"][1]) == 1  # written after each cell
    monkeypatch.setattr(grid, "run_experiment", experiments.run)
    assert grid.main(command(tmp_path)) == 0
    assert len(experiments.ran) == len(experiments.known) == 5
    first = tables(tmp_path)
    assert grid.main(command(tmp_path)) == 0
    assert len(experiments.ran) == 5
    assert tables(tmp_path) == first


@pytest.mark.parametrize(
    ("objective", "more", "second"),
    [
        ("vicreg_modified", [], 4 * 3 * 5),
        ("mhs_modified", [], 4 * 5),
        ("info_nce", [], 3),
        ("vicreg", [], None),
        ("mhs", ["-S", "overlay=authors"], None),
    ],
)
def test_the_grids_are_the_papers_over_what_the_objective_has(
    monkeypatch: pytest.MonkeyPatch, objective: str, more: list[str], second: int | None
) -> None:
    monkeypatch.chdir(ROOT)
    words = ["--objective", objective, "--out", "x", "-S", "profile=paper-bert", *more]
    common, (rate, components) = grid.plan(grid._parser().parse_args(words))
    assert "evaluate.tasks=STS-B" in common
    assert [len(values) for values in rate] == [4, 4]
    # Its own `train` mapping would win over `train`.
    own = "objectives.mhs." if objective == "mhs" else ""
    assert rate[1][0] == f"{own}train.learning_rate=5e-06"
    counts = [len(values) for values in components]
    assert counts == {60: [4, 3, 5], 20: [4, 5], 3: [3], None: []}[second]


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
    more: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    experiments = Experiments(monkeypatch)
    assert grid.main(command(tmp_path, *more)) == 1
    told = capsys.readouterr().err
    assert told.startswith("grid: ")
    assert message in told
    assert not experiments.ran
    assert not list(tmp_path.iterdir())


def test_another_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert grid.main(command(tmp_path)) == 1
    assert "has no .git, so it is not the root of a DVC repository" in capsys.readouterr().err


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path / "project")
    made.done("git", "add", "--all")
    made.done("git", "commit", "--quiet", "--message", "Before any run")
    return made


@pytest.mark.verify
def test_a_tiny_grid_runs_each_cell_once(project: Project) -> None:
    command = [
        sys.executable, "-m", "pipeline.grid", "--objective", "vicreg_modified", "--out", "grid",
        "--batch-size", "8", "--learning-rate", "1e6", "1e-3", "--margin", "0.3", "--temperature",
        "0.05", "--ratio", "1.5", "-S", "train.steps=2", "-S", "train.evaluate_every=1",
    ]  # fmt: skip
    project.done(*command)
    content, _ = tables(project.folder / "grid")
    (collapsed, _), (picked,) = content["stages"]
    assert collapsed["failed"].startswith("train: vicreg_modified with seed 42 collapsed: ")
    finished = {cell["name"] for stage in content["stages"] for cell in stage if cell["dev"]}
    assert set(project.done("dvc", "exp", "list", "--name-only").split()) == finished
    assert len(finished) == 2

    project.done("dvc", "exp", "apply", picked["name"])
    params = yaml.safe_load((project.folder / "params.yaml").read_text("utf-8"))
    assert params["train"]["learning_rate"] == 1e-3
    assert params["objectives"]["vicreg_modified"]["ratio"] == 1.5
    metrics = json.loads((project.folder / "metrics/vicreg_modified/42.json").read_text("utf-8"))
    assert metrics["dev_spearman"] == picked["dev"]

    said = project.done(*command)  # only what failed is tried again
    assert said.count("Running stage 'train@") == 1
    assert tables(project.folder / "grid")[0] == content
