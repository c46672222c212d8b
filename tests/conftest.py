"""The order of the tests, and tiny backbones, once a session; see tests/tiny.py."""

import shutil
from pathlib import Path

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from tests.tiny import Refused, write_bert, write_roberta

# Files that start services, pipelines, clusters and processes. Those that take longest come first,
# so that no process of pytest-xdist is left alone with one.
LONGEST = (
    "tests/test_pipeline.py",
    "tests/serve/e2e/browser/",
    "tests/serve/e2e/",
    "tests/embedding/test_ray.py",
    "tests/training/test_processes.py",
)


class Grouped(LoadScopeScheduling):  # type: ignore[misc]
    """A group of tests goes to one process. xdist's own groups do nothing from pytest 9.2 on."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Its file, or what shares a service or a browser."""
    file = nodeid.partition("::")[0]
    return next((name for name in LONGEST if file.startswith(name)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Grouped:
    return Grouped(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest groups first."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(group_of(item.nodeid), len(places)))


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """The one sentence of a command that ended with status 1; it says nothing else."""

    def sentence(status: int) -> str:
        said = capsys.readouterr()
        assert (status, said.out, said.err.count("\n")) == (1, "", 1)
        return said.err

    return sentence


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
