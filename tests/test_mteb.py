"""MTEB's package gives the scores that pipeline.evaluate gives, on the same files."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.real import REAL, needs_real_data
from tests.tiny import ROOT

PYTHON = ROOT / ".venv-mteb" / "bin" / "python"


@needs_real_data
@pytest.mark.verify
@pytest.mark.skipif(not PYTHON.exists(), reason="`make verify` makes .venv-mteb")
def test_seven_tasks_have_the_scores_of_pipeline_evaluate(tmp_path: Path) -> None:
    folder = ROOT / "encoders" / "reference"
    command: list[str | Path] = [
        PYTHON,
        "-m",
        "benchmarks.mteb_sts",
        "--encoder",
        folder / "vicreg_modified",
    ]
    subprocess.run(
        [*command, "--data", REAL, "--out", tmp_path / "scores.json"],
        check=True,
        cwd=ROOT,
        env=os.environ | {"HF_HOME": str(tmp_path / "home")},
    )
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    ours = json.loads((folder / "vicreg_modified.json").read_text(encoding="utf-8"))["sts"]
    expected = {task: one["spearman"] for task, one in ours.items()}
    assert len(scores) == 7
    assert scores == pytest.approx(expected, abs=0.02)
