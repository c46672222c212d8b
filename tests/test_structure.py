"""Which room may import which."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
OURS = ("pipeline", "serve", "app")
# A room may import those below it. A module that lies in no room is a stage or a command: on top.
ROOMS = (
    "pipeline.embedding",
    "pipeline.hub",
    "pipeline.xray",
    "pipeline.paper",
    "pipeline.results",
    "pipeline.training",
    "pipeline.config",
    "pipeline.senteval",
    "pipeline.encoder",
    "pipeline.data",
    "pipeline.objectives",
    "pipeline.machine",
)
# What the service takes of the pipeline.
FOR_SERVE = {"encoder", "machine", "objectives"}


def modules(package: str, *, types: bool = True) -> Iterator[tuple[str, set[str]]]:
    """Each module of a package, and the modules of ours that it imports.

    `types`: also where only a type checker does.
    """
    for path in sorted((ROOT / package).rglob("*.py")):
        names: set[str] = set()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not types:
            tree.body = [node for node in tree.body if not is_for_types(node)]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        yield module, {name for name in names if name.split(".")[0] in OURS}


def is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def room(module: str) -> str:
    """`pipeline.results` for what lies in that folder, the module itself for a stage."""
    parts = module.split(".")
    place = ROOT.joinpath(*parts[:2])
    return ".".join(parts[:2]) if place.is_dir() else module


def level(place: str) -> int:
    """How deep a room lies: a stage on top."""
    return ROOMS.index(place) if place in ROOMS else -1


def test_a_room_of_the_pipeline_imports_only_those_below_it() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, names in modules("pipeline")
        for name in names
        if name.split(".")[0] != "pipeline"
        or (level(room(module)) >= level(room(name)) and room(name) != room(module))
    ]
    assert not wrong


def test_every_room_of_the_pipeline_has_its_level() -> None:
    folders = {room(module) for module, _ in modules("pipeline") if module.count(".") > 1}
    assert folders == set(ROOMS)


def test_serve_takes_little_of_the_pipeline_and_app_nothing() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, names in modules("serve")
        for name in names
        if name.startswith("pipeline.") and name.split(".")[1] not in FOR_SERVE
    ]
    wrong += [
        f"{module} imports {name}"
        for module, names in modules("app")
        for name in names
        if not name.startswith("app")
    ]
    assert not wrong


def test_no_two_rooms_of_the_service_import_each_other() -> None:
    arrows = {
        (room(module), room(name))
        for module, names in modules("serve")
        for name in names
        if name.startswith("serve.") and module.count(".") > 1
    }
    assert not {(a, b) for a, b in arrows if a != b and (b, a) in arrows}


def test_no_modules_import_each_other_in_a_circle() -> None:
    arrows = {module: names for package in OURS for module, names in modules(package)}
    parents = {module.removesuffix(".__init__") for module in arrows}
    graph = {
        module: {name if name in parents else name.rpartition(".")[0] for name in names}
        for module, names in arrows.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


# The command that each stage runs, by file of the pipeline.
STAGES = {
    "dvc.yaml": {name: name for name in ("prepare", "train", "evaluate", "compare")}
    | {"untrained": "evaluate"},
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
# These decide no result: params.yaml is a dependency by its keys, and files are files.
NO_RESULT = {"pipeline.config", "pipeline.machine"}


def deciding(module: str, imports: dict[str, set[str]]) -> set[str]:
    """The rooms, and the stage itself, that decide what a stage computes."""
    seen: set[str] = set()
    left = [module]
    while left:
        name = left.pop()
        known = next((m for m in (name, name.rpartition(".")[0]) if m in imports), None)
        if known is not None and known not in seen and room(known) not in NO_RESULT:
            seen.add(known)
            left += imports[known]
    return {room(name) for name in seen}


@pytest.mark.parametrize("file", STAGES)
def test_dvc_reruns_a_stage_when_code_that_decides_its_result_changes(file: str) -> None:
    stages = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["stages"]
    assert set(stages) - {"check"} == set(STAGES[file])  # which decides no result
    imports = dict(modules("pipeline", types=False))
    for stage, command in STAGES[file].items():
        watched = {dep for dep in stages[stage]["deps"] if dep.startswith("pipeline/")}
        needed = deciding(f"pipeline.{command}", imports)
        files = {name.replace(".", "/") for name in needed}
        missing = {f for f in files if f not in watched and f"{f}.py" not in watched}
        assert not missing, stage
        assert all((ROOT / dep).exists() for dep in watched)
