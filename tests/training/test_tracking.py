"""A tracker gets the curve, without what is undefined; none is needed."""

import json
import math
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from pipeline.machine.errors import InputError
from pipeline.training.display import silent
from pipeline.training.tracking import tracking

SETTINGS = {"objective": "vicreg", "training": {"batch_size": 64, "steps": None}}
ROWS = [
    {"step": 0, "dev_spearman": 60.0, "loss": math.nan},
    {"step": 5, "dev_spearman": 62.5, "loss": 0.25},
]


def test_by_default_nothing_is_tracked() -> None:
    with tracking("none", "vicreg-42", SETTINGS) as report:
        assert report is silent


@pytest.mark.parametrize("track", ["dvclive", "mlflow", "tensorboard"])
def test_a_tracker_that_is_not_installed_is_named(
    track: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, track, None)
    with (
        pytest.raises(InputError, match=f"pip install {track}"),
        tracking(track, "vicreg-42", SETTINGS),  # type: ignore[arg-type]
    ):
        pass


def test_a_tracker_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def start_run(run_name: str) -> None:
        raise RuntimeError(f"no server for {run_name}.\nTraceback")

    stand_in = SimpleNamespace(start_run=start_run, __spec__=ModuleSpec("mlflow", None))
    monkeypatch.setitem(sys.modules, "mlflow", stand_in)
    with (
        pytest.raises(InputError, match=r"mlflow does not start \(.*no server for vicreg-42\)"),
        tracking("mlflow", "vicreg-42", SETTINGS),
    ):
        pass


def test_dvclive_has_the_settings_and_the_curve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dvclive")
    monkeypatch.chdir(tmp_path)
    with tracking("dvclive", "vicreg-42", SETTINGS) as report:
        for row in ROWS:
            report(int(row["step"]), 5, row)
        report(5, 5, None)
    folder = tmp_path / "tracks" / "vicreg-42"
    settings = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    assert settings == {"objective": "vicreg", "training.batch_size": 64, "training.steps": None}
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["dev_spearman"] == 62.5
    loss = (folder / "plots" / "metrics" / "loss.tsv").read_text(encoding="utf-8").split()
    assert loss[-2:] == ["5", "0.25"]


def test_tensorboard_has_the_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import (  # noqa: PLC0415
        EventAccumulator,
    )

    monkeypatch.chdir(tmp_path)
    with tracking("tensorboard", "vicreg-42", SETTINGS) as report:
        for row in ROWS:
            report(int(row["step"]), 5, row)
    events = EventAccumulator(str(tmp_path / "tracks" / "vicreg-42"))
    events.Reload()
    assert [event.step for event in events.Scalars("dev_spearman")] == [0, 5]
    assert [event.step for event in events.Scalars("loss")] == [5]
