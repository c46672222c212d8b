"""The command on inputs of a few rows, with an encoder that costs nothing where it is not read."""

from pathlib import Path

import pytest

from pipeline.embedding.encoding import Encoding
from tests.embedding.lab import FakeEncoder, Run, write_text


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    encoder = FakeEncoder()
    monkeypatch.setattr(Encoding, "load", lambda settings: encoder)
    return encoder


@pytest.fixture
def run(tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command on `in.txt`, which holds SENTENCES."""
    return Run(write_text(tmp_path / "in.txt"), tmp_path / "out.npy", tiny_bert, capsys)
