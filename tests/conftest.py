"""The order of the tests, and tiny backbones, once a session; see tests/tiny.py."""

import shutil
from pathlib import Path

import pytest

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


# pytest-xdist reads the groups in a hook of its own, which would come first.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first; files stay together, and so do those that share a service or a browser."""
    groups: dict[str, list[pytest.Item]] = {name: [] for name in LONGEST}
    for item in items:
        file = item.nodeid.partition("::")[0]
        group = next((name for name in LONGEST if file.startswith(name)), file)
        item.add_marker(pytest.mark.xdist_group(group))
        groups.setdefault(group, []).append(item)
    items[:] = [item for group in groups.values() for item in group]


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
