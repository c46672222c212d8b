"""One cell of a reproduction: what it runs, what it leaves, and that it resumes."""

from __future__ import annotations

import importlib
import subprocess
from typing import TYPE_CHECKING

import pytest

from pipeline import cell, reproduction
from tests.tiny import ROOT

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from tests.tiny import Refused

SMALL = ["train.steps=2", "train.evaluate_every=1", "analysis.measure.batches=1"]


def options(folder: Path) -> list[str]:
    words = ["--objective", "vicreg", "--seed", "42", "--rate", "3.0e-4"]
    words += ["--runs", str(folder / "runs"), "--models", str(folder / "models")]
    words += ["--prepared", str(folder / "prepared")]
    return words + [word for one in SMALL for word in ("-S", one)]


class Stages:
    """Stands for the stages: takes the options that they take, and leaves what a cell looks for."""

    failing = "none"

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[str] = []
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(subprocess, "run", self.run)

    def run(self, words: Sequence[str], **given: object) -> subprocess.CompletedProcess[bytes]:
        module = words[2]
        self.ran.append(module.removeprefix("pipeline."))
        stage = importlib.import_module(module)
        took: list[Namespace] = []
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(stage, "run_stage", lambda *given: took.append(given[2]))
            stage.main(list(words[3:]))
        (asked,) = took
        assert given["env"]["OMP_NUM_THREADS"] == "1"  # type: ignore[index]
        if module.endswith(self.failing):
            return subprocess.CompletedProcess(words, 1)
        output: Path = asked.model / "triad.json" if module.endswith("train") else asked.out
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("{}", encoding="utf-8")
        return subprocess.CompletedProcess(words, 0)


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Stages:
    return Stages(monkeypatch)


def test_it_runs_each_part_once(stages: Stages, tmp_path: Path) -> None:
    assert cell.main(options(tmp_path)) == 0
    assert stages.ran == ["prepare", "train", "evaluate", "evaluate", "measure"]
    assert cell.main(options(tmp_path)) == 0
    assert len(stages.ran) == 5
    assert cell.main([*options(tmp_path), "--transfer"]) == 0
    assert stages.ran[5:] == ["evaluate"]
    assert (tmp_path / "runs/3.0e-4/transfer/vicreg/42.json").is_file()
    header, row = (tmp_path / "runs/cells.csv").read_text(encoding="utf-8").splitlines()
    assert header == "rate,objective,seed,day,processor"
    assert row.startswith("3.0e-4,vicreg,42,20")


def test_a_part_that_fails_is_named_and_made_by_the_next_call(
    stages: Stages, tmp_path: Path, refused: Refused
) -> None:
    stages.failing = "evaluate"
    message = "cell: pipeline.evaluate failed; the same command resumes the cell.\n"
    assert refused(cell.main(options(tmp_path))) == message
    stages.failing = "none"
    assert cell.main(options(tmp_path)) == 0
    assert stages.ran == ["prepare", "train", "evaluate", "evaluate", "evaluate", "measure"]


def test_a_wrong_setting_is_refused_before_anything_runs(
    stages: Stages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cell.main([*options(tmp_path), "-S", "train.batch_size=0"]) == 1
    assert "train.batch_size" in capsys.readouterr().err
    assert not stages.ran


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("overlay=authors", "--rate: 3.0e-4, but objectives.mhs.train.learning_rate is 5e-06"),
        ("train.steps=2", "--objective: unknown objective 'mhz'; did you mean 'mhs'?"),
    ],
)
def test_a_cell_that_would_be_filed_under_another_name_is_refused(
    stages: Stages, tmp_path: Path, refused: Refused, setting: str, message: str
) -> None:
    name = "mhs" if setting.startswith("overlay") else "mhz"
    asked = [*options(tmp_path), "--objective", name, "-S", setting]
    assert message in refused(cell.main(asked))
    assert not stages.ran


@pytest.mark.verify
def test_a_real_cell_gets_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert cell.main(options(tmp_path)) == 0
    out = tmp_path / "out"
    words = ["--runs", str(tmp_path / "runs"), "--rate", "3.0e-4", "--out", str(out)]
    assert reproduction.main(words) == 0
    text = (out / "reproduction.md").read_text(encoding="utf-8")
    assert "| `vicreg` | n = 1 |" in text
    assert "| 3.0e-4 | `vicreg` | 42 |" in text
