"""A stage ends with an exit code and, for what can be explained, one sentence."""

import argparse
from collections.abc import Callable

import pytest
import torch

from pipeline.machine.errors import OtherProcessError
from pipeline.machine.stage import run_stage, text_or_null

NO_OPTIONS = argparse.Namespace()
NO_MEMORY = "the device's memory is too small (CUDA out of memory); lower train.batch_size, or "


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
        (OtherProcessError(), 1, ""),  # which has said it
        (
            torch.OutOfMemoryError("CUDA out of memory.\nMore about it"),
            1,
            f"name: {NO_MEMORY}evaluate.batch_size if it was measuring.\n",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_can_be_explained_is_one_sentence(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, sentence: str
) -> None:
    assert run_stage("name", failing(error), NO_OPTIONS) == code
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize("mistake", [TypeError("a mistake"), RuntimeError("a mistake")])
def test_a_mistake_of_ours_keeps_its_traceback(mistake: Exception) -> None:
    with pytest.raises(type(mistake), match="a mistake"):
        run_stage("name", failing(mistake), NO_OPTIONS)


def test_null_of_params_yaml_is_none_on_a_command_line() -> None:
    assert text_or_null("None") is None
    assert text_or_null("v1") == "v1"
