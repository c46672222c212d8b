"""params.yaml -> `Params`: strict, and all errors at once.

Every key must be there, be known and have the right type and range; whatever is wrong is
reported in one go with the nearest known name. Not here: the schema (params.py), any default.
"""

import dataclasses
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pipeline.objectives import OBJECTIVES
from pipeline.params import Params, TrainParams
from pipeline.strict import present, section, unknown, value


class ConfigError(ValueError):
    """params.yaml is not what it should be; the message lists everything that is wrong."""


def load(path: Path) -> Params:
    """Read and check params.yaml.

    Raises:
        ConfigError: the file is missing, no YAML, or holds anything wrong.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {error}") from error
    problems: list[str] = []
    params = section(Params, content, "", problems)
    # The checks below read the raw content, so that they run whatever else is wrong.
    raw = content if isinstance(content, Mapping) else {}
    _check_runs(_mapping(raw, "runs"), raw.get("objectives"), problems)
    for key, given in _mapping(raw, "conventions").items():
        _check_convention(str(key), given, problems)
    for name, settings in _mapping(raw, "objectives").items():
        if name in OBJECTIVES:
            _check_objective(name, settings, _mapping(raw, "train"), problems)
        else:
            problems.append(unknown("objectives", "objective", str(name), OBJECTIVES))
    for where in ("corpus", "backbone"):
        _check_watch(where, _mapping(raw, where), problems)
    if params is None or problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ConfigError(f"{path}: " + "\n  ".join([f"{count}:", *problems]))
    return params


def _mapping(content: Mapping[Any, Any], key: str) -> Mapping[Any, Any]:
    """A section; empty where it is none, which `section` has noted."""
    found = content.get(key)
    return found if isinstance(found, Mapping) else {}


def _check_runs(runs: Mapping[Any, Any], objectives: object, problems: list[str]) -> None:
    named = runs.get("objectives")
    for name in named if isinstance(named, list) else []:
        if not isinstance(name, str):
            continue  # `section` has noted it
        if name not in OBJECTIVES:
            problems.append(unknown("runs.objectives", "objective", name, OBJECTIVES))
        elif isinstance(objectives, Mapping) and name not in objectives:
            problems.append(f"objectives.{name}: missing; add it, if only as {{}}.")


def _check_convention(key: str, given: object, problems: list[str]) -> None:
    every = {
        field.name: (field, typing.get_type_hints(objective)[field.name])
        for objective in OBJECTIVES.values()
        for field in dataclasses.fields(objective)
    }
    if key in every:
        value(*every[key], given, f"conventions.{key}", problems)
    else:
        problems.append(unknown("conventions", "convention", key, sorted(every)))


def _check_objective(
    name: str, settings: object, train: Mapping[Any, Any], problems: list[str]
) -> None:
    where = f"objectives.{name}"
    present(OBJECTIVES[name], settings, where, problems, others=("train",))
    if not isinstance(settings, Mapping) or "train" not in settings:
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
