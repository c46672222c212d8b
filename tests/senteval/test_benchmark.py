"""Both halves in one call, for anybody's model."""

import random
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from pipeline.machine.errors import InputError
from pipeline.senteval import evaluate
from pipeline.senteval.classifier import SETTINGS, SettingName
from tests.real import SAMPLE


def words(sentences: list[str]) -> np.ndarray:
    """How often words of each of 256 kinds occur."""
    embeddings = np.zeros((len(sentences), 256), np.float32)
    for row, sentence in enumerate(sentences):
        for word in sentence.split():
            embeddings[row, zlib.crc32(word.encode()) % 256] += 1
    return embeddings


def never(sentences: list[str]) -> np.ndarray:
    pytest.fail(f"{len(sentences)} sentences were encoded")


@pytest.mark.parametrize("setting", SETTINGS)
def test_both_halves_are_scored_on_what_a_folder_has(setting: SettingName) -> None:
    result = evaluate(words, str(SAMPLE), setting=setting)
    assert [score.task for score in result.scores] == ["STS-B", "MR", "TREC"]
    assert result.sts.average == result.sts["STS-B"].spearman
    assert result.transfer.average == pytest.approx(
        (result.transfer["MR"].accuracy + result.transfer["TREC"].accuracy) / 2
    )
    assert {score.label for score in result.scores} == {"other"}
    assert result.transfer["TREC"].accuracy > 2 * 100 / 6  # of chance
    assert result.setting == setting
    assert len(result.missing) == 11


@pytest.mark.parametrize("tasks", ["STS-B, CR", ["CR", "STS-B"]])
def test_tasks_are_named_in_a_text_or_a_list(tasks: str | Sequence[str]) -> None:
    result = evaluate(words, SAMPLE, tasks, setting="fast")
    assert [score.task for score in result.scores] == ["STS-B"]
    assert result.missing == ("CR",)
    with pytest.raises(ValueError, match="average: no task ran; ask for sts or transfer"):
        _ = result.transfer.average


def test_damaged_data_is_refused_before_anything_is_encoded(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE / "STS", tmp_path / "STS")
    (tmp_path / "MR").mkdir()
    with pytest.raises(InputError, match=r"rt-polarity\.pos is missing"):
        evaluate(never, tmp_path)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="setting: unknown setting 'tset'; known: test, fast"):
        evaluate(never, SAMPLE, setting=cast("Any", "tset"))


def test_the_callers_random_state_is_left_as_it_was() -> None:
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # type: ignore[index]  # noqa: NPY002
    evaluate(words, SAMPLE, "STS-B,TREC", setting="fast")
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # type: ignore[index]  # noqa: NPY002
    assert after == states
