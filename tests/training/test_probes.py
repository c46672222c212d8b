"""A run can record what it does to chosen sentences."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.train import main, train
from pipeline.training.display import silent
from pipeline.training.identity import identify
from tests.training.lab import Lab, dev_set, record, rows, written

SENTENCES = ["A dog runs on the sand.", "The dog is running on sand.", "Two trains."]


@pytest.fixture(scope="module")
def recorded(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probes")
    (folder / "sentences.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    identity = identify(lab.params(folder / "run"), "info_nce", 1, lab.prepared)
    places = replace(lab.places(folder / "run"), probes=folder)
    train(identity, dev_set(), places, silent)
    return folder


def test_each_evaluation_is_recorded(recorded: Path) -> None:
    steps = {int(path.stem) for path in (recorded / "info_nce/1").iterdir()}
    assert steps == {int(row["step"]) for row in rows(recorded / "run")}


def test_two_views_and_the_encoders_own_embeddings(recorded: Path) -> None:
    kept = record(recorded / "run")["kept"]["step"]
    first, second, own = np.load(recorded / f"info_nce/1/{kept}.npy").astype(np.float32)
    encoder = SentenceEncoder.load(str(recorded / "run/models/model"))
    expected = encoder.encode(SENTENCES)
    np.testing.assert_allclose(own, expected, rtol=2e-3, atol=2e-3)
    assert first.shape == second.shape == expected.shape
    assert (first != second).any(axis=1).all()


def test_the_run_is_the_same_as_without(recorded: Path, finished: Path) -> None:
    assert written(recorded / "run") == written(finished)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, r"--probes: .*sentences\.txt cannot be read"),
        (b"one\n\ntwo\n", r"--probes: .*sentences\.txt must hold one sentence on every line\."),
        (b"", r"--probes: .*sentences\.txt must hold one sentence on every line\."),
        (b"caf\xe9\n", r"--probes: .*sentences\.txt cannot be read"),
    ],
)
def test_sentences_that_cannot_be_read_are_one_sentence(
    lab: Lab,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    content: bytes | None,
    sentence: str,
) -> None:
    if content is not None:
        (tmp_path / "sentences.txt").write_bytes(content)
    arguments = lab.arguments(tmp_path / "run")
    assert main([*arguments, "--probes", str(tmp_path)]) == 1
    assert re.search(sentence, capfd.readouterr().err)
