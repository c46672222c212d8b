"""params.yaml -> `Params`: strict, and all errors at once.

Every key must be there, be known and have the right type and range; whatever is wrong is
reported in one go with the nearest known name. Not here: the schema (params.py), any default.
"""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.config.schema import ConventionsParams, Params, TrainParams
from pipeline.machine.strict import present, section, unknown
from pipeline.machine.yaml_file import read_yaml, refuse
from pipeline.objectives import OBJECTIVES
from pipeline.senteval.benchmark import FOLDERS, HALVES
from pipeline.senteval.sts_files import find_downstream

# Which STS-B file picks the best step, in SentEval's folder.
DEV_PAIRS = Path("STS", "STSBenchmark", "sts-dev.csv")
VARIANT = re.compile("[a-z0-9_]+")
CONVENTIONS = frozenset(field.name for field in dataclasses.fields(ConventionsParams))


def load(path: Path) -> Params:
    """Read and check params.yaml.

    Raises:
        ConfigError: the file is missing, no YAML, or holds anything wrong.
    """
    content = read_yaml(path)
    if isinstance(content, Mapping):
        # serve/settings.py checks the service's own section.
        content = {key: content[key] for key in content if key != "serve"}
    problems: list[str] = []
    params = section(Params, content, "", problems)
    # The checks below read the raw content, so that they run whatever else is wrong.
    raw = content if isinstance(content, Mapping) else {}
    objectives = _mapping(raw, "objectives")
    for where in ("runs", "analysis"):
        _check_named(where, _mapping(raw, where), objectives, problems)
    simulated = _mapping(_mapping(raw, "analysis"), "simulation")
    _check_named("analysis.simulation", simulated, objectives, problems)
    for name, settings in objectives.items():
        _check_objective(str(name), settings, _mapping(raw, "train"), problems)
    for where in ("corpus", "backbone"):
        _check_watch(where, _mapping(raw, where), problems)
    _check_evaluate(_mapping(raw, "evaluate"), problems)
    if params is None or problems:
        raise refuse(path, problems)
    return params


def _mapping(content: Mapping[Any, Any], key: str) -> Mapping[Any, Any]:
    """A section; empty where it is none, which `section` has noted."""
    found = content.get(key)
    return found if isinstance(found, Mapping) else {}


def _check_named(
    where: str, given: Mapping[Any, Any], objectives: Mapping[Any, Any], problems: list[str]
) -> None:
    """The objectives that a section lists: known, with hyperparameters, each once."""
    named = given.get("objectives")
    named = named if isinstance(named, list) else []
    for name in dict.fromkeys(name for name in named if isinstance(name, str)):
        if name in OBJECTIVES and name not in objectives:
            problems.append(f"objectives.{name}: missing; add its hyperparameters.")
        elif name not in objectives:
            known = dict.fromkeys([*OBJECTIVES, *map(str, objectives)])
            problems.append(unknown(f"{where}.objectives", "objective", name, known))
        if named.count(name) > 1:
            problems.append(f"{where}.objectives: {name!r} stands there more than once.")


def _kind(name: str, settings: object, problems: list[str]) -> type[Any] | None:
    """The class of an objective, or of what it is a variant of."""
    varied = settings.get("variant_of") if isinstance(settings, Mapping) else None
    if varied is None:
        if name not in OBJECTIVES:
            problems.append(unknown("objectives", "objective", name, OBJECTIVES))
        return OBJECTIVES.get(name)
    if name in OBJECTIVES:
        problems.append(
            f"objectives.{name}.variant_of: {name} is an objective of its own; give the variant "
            "another name."
        )
    elif not VARIANT.fullmatch(name):
        problems.append(
            f"objectives: a variant's name is a folder's too, so it must be of small letters, "
            f"digits and underscores, got {name!r}."
        )
    elif str(varied) not in OBJECTIVES:
        problems.append(
            unknown(f"objectives.{name}.variant_of", "objective", str(varied), OBJECTIVES)
        )
    return OBJECTIVES.get(str(varied))


def _check_objective(
    name: str, settings: object, train: Mapping[Any, Any], problems: list[str]
) -> None:
    where = f"objectives.{name}"
    kind = _kind(name, settings, problems)
    if kind is None:
        return
    present(kind, settings, where, problems, others=("train", "variant_of"))
    if not isinstance(settings, Mapping):
        return
    problems.extend(
        f"{where}.{field.name}: missing; add it."
        for field in dataclasses.fields(kind)
        if field.name not in settings and field.name not in CONVENTIONS
    )
    if "train" not in settings:
        return
    replaced = present(TrainParams, settings["train"], f"{where}.train", problems)
    length = train.get("max_length")
    if replaced.get("max_length") not in (None, length):
        problems.append(
            f"{where}.train.max_length: must equal train.max_length ({length!r}), since the corpus "
            f"is prepared once for all objectives, got {replaced['max_length']!r}."
        )


def _check_watch(where: str, given: Mapping[Any, Any], problems: list[str]) -> None:
    """DVC watches `watch`: it must be the source itself where that is on this machine."""
    source, watch = given.get("source"), given.get("watch")
    if not isinstance(source, str) or not isinstance(watch, str):
        return  # `section` has noted it
    if watch != source and Path(source).exists():
        problems.append(
            f"{where}.watch: must equal {where}.source for a local path ({source!r}), "
            f"got {watch!r}."
        )


def _check_evaluate(given: Mapping[Any, Any], problems: list[str]) -> None:
    data, dev, tasks = given.get("data"), given.get("dev"), given.get("tasks")
    names = tasks.split(",") if isinstance(tasks, str) else []
    known = [*HALVES, *FOLDERS]
    problems.extend(
        unknown("evaluate.tasks", "task", name.strip(), known)
        for name in names
        if name.strip() not in known
    )
    if not isinstance(data, str) or not Path(data).is_dir():
        return  # evaluate says so in its own words
    expected = (find_downstream(Path(data)) / DEV_PAIRS).as_posix()
    if isinstance(dev, str) and dev != expected:
        problems.append(f"evaluate.dev: must be {expected!r}, evaluate.data's own, got {dev!r}.")
