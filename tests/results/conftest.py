from pathlib import Path

import pytest

from tests.results.lab import Project


@pytest.fixture
def drawing_project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def project(drawing_project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Without the pictures, which take a second."""
    monkeypatch.setattr("pipeline.compare.image", lambda *_: b"")
    return drawing_project
