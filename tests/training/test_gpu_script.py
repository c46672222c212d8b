"""The ten-minute script for a GPU runs whole where there is none, and a part loses only itself."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tiny import ROOT

pytestmark = pytest.mark.verify
RATE = 0.1  # of dropout


def run(out: Path, *options: str, **variables: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit status, and the lines that were written."""
    command = [sys.executable, "-m", "benchmarks.gpu", "--out", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | variables, check=False)
    return done.returncode, [json.loads(line) for line in out.read_text().splitlines()]


def test_every_part_runs_on_a_cpu(tmp_path: Path) -> None:
    status, lines = run(tmp_path / "gpu.jsonl", "--minutes", "60", CUDA_VISIBLE_DEVICES="")
    assert [line for line in lines if line.get("status", 0) != 0 or "failed" in line] == []
    assert status == 0

    def of(part: str, key: str) -> list[Any]:
        return [line[key] for line in lines if line["part"] == part and key in line]

    assert of("attention", "rate") == pytest.approx([RATE] * 8, abs=0.01)
    assert max(of("losses", "greatest_difference")) < 1e-3
    assert of("base", "wall_ms")
    assert of("base", "top")
    assert len(of("variants", "wall_ms")) >= 3
    assert {"ours", "trainer", "eager"} <= set(of("peers", "peer"))
    assert None not in of("stage", "killed_after")
    assert of("stage", "curves_equal") == [True]
    assert min(of("serving", "agreement")) >= 0.9999
    assert of("overheads", "objectives")


def test_a_part_that_fails_loses_only_itself(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['serve'] = None\n")
    parts = ("--parts", "serving", "rates")
    status, lines = run(tmp_path / "gpu.jsonl", *parts, "--minutes", "30", PYTHONPATH=str(tmp_path))
    assert status == 1
    ends = {line["part"]: line for line in lines if "status" in line}
    assert ends["serving"]["status"] == 1
    assert "ModuleNotFoundError" in ends["serving"]["last"]
    assert ends["rates"]["status"] == 0


def test_a_part_whose_time_is_over_is_ended(tmp_path: Path) -> None:
    parts = ("--parts", "attention", "rates")
    status, lines = run(tmp_path / "gpu.jsonl", *parts, "--minutes", "0.002")
    assert status == 2
    assert [(line["part"], line["status"]) for line in lines] == [
        ("attention", None),
        ("rates", None),
    ]
