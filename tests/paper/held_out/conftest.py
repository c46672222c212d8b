"""The sample's corpus, a tenth of it held out, for the tiny backbone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tiny import prepare_sample

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="package")
def prepared(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_sample(tiny_bert, tmp_path_factory.mktemp("held_out") / "prepared", 0.1)
