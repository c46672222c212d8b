"""A stage ends with an exit code and, for what can be explained, one sentence."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import torch

from pipeline import compare, evaluate, prepare, train
from pipeline.machine.stage import run_stage
from tests.tiny import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable


def failing(error: BaseException) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ValueError("a value"), 1, "name: a value\n"),
        (OSError("a place"), 1, "name: a place\n"),
        (KeyboardInterrupt(), 130, "name: interrupted; nothing was written.\n"),
    ],
)
def test_what_can_be_explained_is_one_sentence(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, sentence: str
) -> None:
    assert run_stage("name", failing(error)) == code
    assert capsys.readouterr() == ("", sentence)


def test_too_little_memory_is_told_what_to_lower(capsys: pytest.CaptureFixture[str]) -> None:
    error = torch.OutOfMemoryError("CUDA out of memory.\nMore about it")
    assert run_stage("train", failing(error)) == 1
    sentence = capsys.readouterr().err
    assert sentence.startswith("train: the device's memory is too small (CUDA out of memory); ")
    assert "lower train.batch_size" in sentence


def test_nothing_wrong_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_stage("name", lambda: None) == 0
    assert capsys.readouterr() == ("", "")


def test_a_mistake_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(TypeError, match="a mistake"):
        run_stage("name", failing(TypeError("a mistake")))


ARGUMENTS = {
    compare: "--metrics a --scores b --curves c --out d --resamples 100 --bootstrap-seed 1",
    evaluate: "--encoder a --data b --out c",
    prepare: "--params a --out b --report c",
    train: "--params a --objective b --seed 1 --prepared c --model d --curve e --dynamics f "
    "--checkpoints g",
}


@pytest.mark.parametrize("stage", ARGUMENTS, ids=lambda stage: stage.__name__)
def test_ctrl_c_ends_every_stage_with_130_and_one_sentence(
    stage: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = stage.__name__  # type: ignore[attr-defined]
    monkeypatch.setattr(stage, "_run", failing(KeyboardInterrupt()))
    assert stage.main(ARGUMENTS[stage].split()) == 130  # type: ignore[attr-defined,index]
    assert capsys.readouterr().err.startswith(f"{name.removeprefix('pipeline.')}: interrupted; ")


class TestCollector:
    """It is off while a command imports, and on for everything else."""

    @pytest.mark.parametrize(
        ("command", "on"),
        [
            (["-m", "pipeline.machine.bounds"], "False"),
            (["-c", "import pipeline.machine.bounds"], "True"),
        ],
        ids=["command", "library"],
    )
    def test_it_is_off_where_a_command_begins(self, command: list[str], on: str) -> None:
        run = subprocess.run(
            [sys.executable, "-i", *command],
            input="import gc; print(gc.isenabled())",
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            timeout=60,
        )
        assert run.stdout == f"{on}\n"

    def test_it_is_on_while_a_stage_runs(self) -> None:
        seen: list[bool] = []
        gc.disable()
        try:
            run_stage("name", lambda: seen.append(gc.isenabled()))
        finally:
            gc.enable()
            gc.unfreeze()
        assert seen == [True]
