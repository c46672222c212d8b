"""The order of the tests, and tiny backbones, once a session; see tests/tiny.py."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tiny import write_bert, write_roberta


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first, so that no process is left alone with one."""

    def slow(of_file: Sequence[pytest.Item]) -> int:
        return sum(
            item.get_closest_marker(name) is not None
            for item in of_file
            for name in ("slow", "verify")
        )

    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    items[:] = [
        item for of_file in sorted(files.values(), key=slow, reverse=True) for item in of_file
    ]


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("backbones") / "tiny-bert")


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_roberta(tmp_path_factory.mktemp("backbones") / "tiny-roberta")


@pytest.fixture(params=["bert", "roberta"])
def tiny(request: pytest.FixtureRequest, tiny_bert: Path, tiny_roberta: Path) -> Path:
    """Each of the two in turn; not to be written to."""
    return tiny_bert if request.param == "bert" else tiny_roberta


@pytest.fixture
def own(tiny_bert: Path, tmp_path: Path) -> Path:
    """A tiny BERT that a test may change."""
    return Path(shutil.copytree(tiny_bert, tmp_path / "own"))
