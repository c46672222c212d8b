"""Prepared tiny backbones, and a finished run."""

from pathlib import Path

import pytest

from tests.training.lab import Lab, make_lab


@pytest.fixture(scope="session")
def lab(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return make_lab(tiny_bert, tmp_path_factory.mktemp("bert") / "prepared")


@pytest.fixture(scope="session")
def roberta_lab(tiny_roberta: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return make_lab(tiny_roberta, tmp_path_factory.mktemp("roberta") / "prepared")


@pytest.fixture(scope="module")
def finished(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from start to end; not to be written to."""
    folder = tmp_path_factory.mktemp("finished")
    lab.train(folder)
    return folder
