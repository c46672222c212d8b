"""The sample's corpus, a tenth of it held out, for the tiny backbone."""

from pathlib import Path

import pytest

from tests.tiny import prepare_sample


@pytest.fixture(scope="package")
def prepared(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_sample(tiny_bert, tmp_path_factory.mktemp("held_out") / "prepared", 0.1)
