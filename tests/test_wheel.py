"""The wheel works outside a checkout: installed into an empty venv, used in an empty folder.

The venv sees the libraries of this one, but for those that only extras bring; those cannot be
imported there. Not here: that pip finds the libraries themselves.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.tiny import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.verify
SOURCES = ("app", "pipeline", "serve", "pyproject.toml", "README.md", "LICENSE", "NOTICE")
EXTRAS = ("bentoml", "dvc", "gradio", "hydra", "matplotlib", "onnx", "pyarrow", "ray")
ABSENT = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r}))"
ENCODER = ROOT / "encoders" / "reference" / "vicreg_modified"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a venv with the wheel in it."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    source.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    built = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(place), str(source)]
    subprocess.run([*pip, *built], check=True)
    venv = place / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (wheel,) = place.glob("triad_encoders-*.whl")
    python = str(venv / "bin" / "python")
    installed = ["--python", python, "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*pip, *installed], check=True)
    (packages,) = venv.glob("lib/python3.*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    (packages / "sitecustomize.py").write_text(ABSENT, encoding="utf-8")
    return venv / "bin"


@pytest.fixture
def run(programs: Path, tmp_path: Path) -> Run:
    """Run a program of the venv in an empty folder; its output, errors too."""

    def run(program: str, *options: object) -> subprocess.CompletedProcess[str]:
        command = [str(programs / program), *map(str, options)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=600, env={}
        )

    return run


def test_evaluation(run: Run, tmp_path: Path) -> None:
    data = ROOT / "tests" / "sample"
    out = ("--out", "metrics.json", "--tasks", "STS-B")
    run_of = run("triad-evaluate", "--encoder", ENCODER, "--data", data, *out)
    assert run_of.returncode == 0, run_of.stderr
    assert "STS-B" in (tmp_path / "metrics.json").read_text(encoding="utf-8")


def test_embedding(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("A man plays.\nIt rains.\n", encoding="utf-8")
    run_of = run("triad-embed", "two.txt", "two.npy", "--encoder", ENCODER)
    assert run_of.returncode == 0, run_of.stderr
    assert np.load(tmp_path / "two.npy").shape == (2, 256)


def test_the_anatomy_prints_its_table_and_says_what_pictures_need(run: Run) -> None:
    table = run("triad-anatomy", "info_nce")
    assert table.returncode == 0, table.stderr
    assert "info_nce" in table.stdout
    pictures = run("triad-anatomy", "info_nce", "--out", "pictures")
    assert "pip install 'triad-encoders[pipeline]'" in pictures.stderr


def test_objectives_and_encoder_from_python(run: Run) -> None:
    code = f"""
import pipeline
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.views import Views

print(pipeline.__file__)
print(sorted(OBJECTIVES)[0], SentenceEncoder.load({str(ENCODER)!r}).encode(["one"]).shape)
"""
    run_of = run("python", "-c", code)
    assert run_of.returncode == 0, run_of.stderr
    file, printed = run_of.stdout.splitlines()
    assert "site-packages" in file
    assert printed == "arccon (1, 256)"


@pytest.mark.parametrize("program", ["triad-publish", "triad-fetch"])
def test_a_command_explains_itself(run: Run, program: str) -> None:
    assert "usage: python -m pipeline." in run(program, "--help").stdout


def test_serving_says_what_it_needs(run: Run) -> None:
    run_of = run("triad-serve")
    assert run_of.returncode == 1
    assert "pip install 'triad-encoders[serve]'" in run_of.stderr
