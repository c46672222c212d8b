"""The order of the tests, and tiny backbones, once a session; see tests/tiny.py."""

import shutil
from pathlib import Path

import pytest

from tests.tiny import write_bert, write_roberta

# What shares a served pair of encoders, and files that start pipelines, clusters and processes.
# Those that take longest come first, so that no process of pytest-xdist is left alone with one.
SERVED = "tests/serve/e2e/"
LONGEST = (
    SERVED,
    "tests/test_pipeline.py",
    "tests/embedding/test_ray.py",
    "tests/training/test_processes.py",
)


def group(item: pytest.Item) -> str:
    file = item.nodeid.partition("::")[0]
    return SERVED if file.startswith(SERVED) else file


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests of a file, or of the served encoders, stay on one process of pytest-xdist."""
    item.add_marker(pytest.mark.xdist_group(group(item)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest come first."""

    def place(item: pytest.Item) -> int:
        name = group(item).partition("@")[0]
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=place)


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
