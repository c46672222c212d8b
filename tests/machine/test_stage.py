"""A stage ends with an exit code and, for what can be explained, one sentence."""

import argparse
from collections.abc import Callable

import pytest
import torch

from pipeline import compare, evaluate, prepare, train
from pipeline.machine.errors import OtherProcessError
from pipeline.machine.stage import parser, run_stage, text_or_null, whole_number

NO_OPTIONS = argparse.Namespace()


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
    assert run_stage("name", failing(error), NO_OPTIONS) == code
    assert capsys.readouterr() == ("", sentence)


def test_too_little_memory_is_told_what_to_lower(capsys: pytest.CaptureFixture[str]) -> None:
    error = torch.OutOfMemoryError("CUDA out of memory.\nMore about it")
    assert run_stage("train", failing(error), NO_OPTIONS) == 1
    sentence = capsys.readouterr().err
    assert sentence.startswith("train: the device's memory is too small (CUDA out of memory); ")
    assert "lower train.batch_size" in sentence


def test_what_another_process_has_said_is_not_said_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_stage("name", failing(OtherProcessError()), NO_OPTIONS) == 1
    assert capsys.readouterr() == ("", "")


def test_nothing_wrong_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_stage("name", lambda _: None, NO_OPTIONS) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("mistake", [TypeError("a mistake"), RuntimeError("a mistake")])
def test_a_mistake_of_ours_keeps_its_traceback(mistake: Exception) -> None:
    with pytest.raises(type(mistake), match="a mistake"):
        run_stage("name", failing(mistake), NO_OPTIONS)


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


@pytest.mark.parametrize(
    ("at_least", "at_most", "text", "message"),
    [
        (1, None, "0", "'0' is not a whole number from 1 on"),
        (1, None, "-1", "'-1' is not a whole number from 1 on"),
        (2, None, "many", "'many' is not a whole number from 2 on"),
        (0, 9, "10", "'10' is not a whole number from 0 to 9"),
    ],
)
def test_an_option_out_of_range_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], at_least: int, at_most: int | None, text: str, message: str
) -> None:
    options = parser("pipeline.name", "What it does.")
    options.add_argument("--count", type=whole_number(at_least, at_most))
    assert options.parse_args(["--count=9"]).count == 9
    with pytest.raises(SystemExit, match="2"):
        options.parse_args([f"--count={text}"])
    error = capsys.readouterr().err
    assert error.startswith("usage: python -m pipeline.name")
    assert message in error


def test_null_of_params_yaml_is_none_on_a_command_line() -> None:
    assert text_or_null("None") is None
    assert text_or_null("v1") == "v1"
