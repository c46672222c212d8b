"""What may import what, and what the training and evaluation stages need installed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"pipeline", "serve", "app"}
MAY_IMPORT = {
    "pipeline": {"pipeline"},
    "serve": {"serve", "app", "pipeline.encoder", "pipeline.objectives"},
    "app": {"app"},
}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in OURS}


def allowed(name: str, packages: set[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


MODULES = sorted(path for package in OURS for path in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_imports_only_what_it_may(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    wrong = {name for name in imported(path) if not allowed(name, MAY_IMPORT[package])}
    assert not wrong


# A bare GPU image has neither these nor our plotting.
ABSENT = ("bentoml", "datasets", "dvc", "gradio", "hydra", "matplotlib", "pandas", "pyarrow")
BARE = f"""
import sys

sys.modules.update(dict.fromkeys({ABSENT!r}))  # None: as if not installed
import pipeline.evaluate, pipeline.train
print("both import")
"""


def test_training_and_evaluation_import_on_a_bare_gpu_image() -> None:
    run = subprocess.run(
        [sys.executable, "-c", BARE],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=300,
    )
    assert run.stdout == "both import\n", run.stderr


LONGEST = 250


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").split("\n")) <= LONGEST
