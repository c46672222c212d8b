"""What may import what, and what the training and evaluation stages need installed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
OURS = {"pipeline", "serve", "app"}
MAY_IMPORT = {
    "pipeline": {"pipeline"},
    "serve": {
        "serve",
        "app",
        "pipeline.atomic",
        "pipeline.bounds",
        "pipeline.cores",
        "pipeline.encoder",
        "pipeline.layout",
        "pipeline.objectives",
        "pipeline.senteval",
        "pipeline.strict",
        "pipeline.version",
        "pipeline.yaml_file",
    },
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


COMMANDS = [
    path
    for path in MODULES
    if path.is_relative_to(ROOT / "pipeline") and "__main__" in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_every_command_is_run_as_a_stage(path: Path) -> None:
    """Which ends it with one sentence, and turns on what `pipeline/__init__.py` turned off."""
    names = {
        node.id
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Name)
    }
    assert "run_stage" in names


# What reads settings, shows progress or writes files decides no result.
NO_RESULT = (
    "atomic",
    "bounds",
    "config",
    "evaluation",
    "hub",
    "params",
    "stage",
    "strict",
    "yaml_file",
)


def deciding(module: str, seen: set[str]) -> set[str]:
    """Modules of ours that decide what a module computes, itself included.

    What a package's `__init__` imports for others is not followed.
    """
    file = (ROOT / Path(*module.split("."))).with_suffix(".py")
    known = module in seen or module.split(".")[1:2] in [[name] for name in NO_RESULT]
    if file.is_file() and not known:
        seen.add(module)
        for name in imported(file):
            deciding(name, seen)
    return seen


# Stages by file, and the module that each runs.
STAGES = {
    "dvc.yaml": {name: name for name in ("prepare", "train", "evaluate", "compare")},
    "analysis/dvc.yaml": {
        "simulate": "simulate",
        "hold_out": "prepare",
        "study": "train",
        "score": "evaluate",
        "measure": "measure",
        "measure_untrained": "measure",
        "report": "report",
    },
}


@pytest.mark.parametrize("file", STAGES)
def test_every_stage_is_checked(file: str) -> None:
    assert set(yaml.safe_load((ROOT / file).read_text("utf-8"))["stages"]) == set(STAGES[file])


@pytest.mark.parametrize(
    ("file", "stage"), [(file, stage) for file, stages in STAGES.items() for stage in stages]
)
def test_dvc_reruns_a_stage_when_code_that_decides_its_result_changes(
    file: str, stage: str
) -> None:
    pipeline = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))
    watched = [dep.removesuffix(".py") for dep in pipeline["stages"][stage]["deps"]]
    needed = {
        module.replace(".", "/") for module in deciding(f"pipeline.{STAGES[file][stage]}", set())
    }
    unwatched = {
        module
        for module in needed
        if not any(module == dep or module.startswith(f"{dep}/") for dep in watched)
    }
    assert not unwatched
    code = [dep for dep in pipeline["stages"][stage]["deps"] if dep.startswith("pipeline/")]
    assert all((ROOT / dep).exists() for dep in code)
