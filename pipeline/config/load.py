"""params.yaml -> `Params`: strict, and all errors at once.

Every key must be there, be known and have the right type and range; whatever is wrong is
reported in one go with the nearest known name. Not here: the schema (schema.py), any default.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.config.schema import ConventionsParams, Params, TrainParams
from pipeline.machine.settings import check, read_yaml, refuse, unknown
from pipeline.objectives import OBJECTIVES
from pipeline.objectives.foreign import Foreign

VARIANT = re.compile("[a-z0-9_]+")
# What an objective's own `train` cannot replace.
_ALIKE = {
    "max_length": "the corpus is prepared once for all objectives",
    "keep": "the best step's encoders are not measured on the pairs that picked it",
    "dev": "scores during training are compared",
}


def load(path: Path) -> Params:
    """Read and check params.yaml.

    Raises:
        ConfigError: the file is missing, no YAML, or holds anything wrong.
    """
    content = read_yaml(path)
    if isinstance(content, Mapping):
        # serve/settings.py checks the service's own section.
        content = {key: content[key] for key in content if key != "serve"}
    problems = check(Params, content)
    # The checks below read the raw content, so that they run whatever else is wrong.
    raw = content if isinstance(content, Mapping) else {}
    objectives, analysis = _mapping(raw, "objectives"), _mapping(raw, "analysis")
    problems += _check_named("runs", _mapping(raw, "runs"), objectives)
    problems += _check_named("analysis", analysis, objectives)
    problems += _check_named("analysis.simulation", _mapping(analysis, "simulation"), objectives)
    problems += _check_baseline(_mapping(raw, "compare"), objectives)
    for name, settings in objectives.items():
        problems += _check_objective(str(name), settings, _mapping(raw, "train"))
    for where in ("corpus", "backbone"):
        problems += _check_watch(where, _mapping(raw, where))
    problems += _check_revision(_mapping(raw, "backbone"))
    if problems:
        raise refuse(path, problems)
    return Params.model_validate(content)


def _mapping(content: Mapping[Any, Any], key: str) -> Mapping[Any, Any]:
    """A section; empty where it is none, which `check` has noted."""
    section = content.get(key)
    return section if isinstance(section, Mapping) else {}


def _check_named(
    where: str, section: Mapping[Any, Any], objectives: Mapping[Any, Any]
) -> list[str]:
    """The objectives that a section lists: known, with hyperparameters, each once."""
    listed = section.get("objectives")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    problems = []
    for name in dict.fromkeys(names):
        if name in OBJECTIVES and name not in objectives:
            problems.append(f"objectives.{name}: missing; add its hyperparameters.")
        elif name not in objectives:
            choices = dict.fromkeys([*OBJECTIVES, *map(str, objectives)])
            problems.append(f"{where}.objectives: {unknown('objective', name, choices)}")
        if names.count(name) > 1:
            problems.append(f"{where}.objectives: {name!r} stands there more than once.")
    return problems


def _check_baseline(section: Mapping[Any, Any], objectives: Mapping[Any, Any]) -> list[str]:
    """A name that nothing has would be compared with nothing, without a word."""
    name = section.get("baseline")
    choices = dict.fromkeys([*OBJECTIVES, *map(str, objectives)])
    if not isinstance(name, str) or name in choices:
        return []
    return [f"compare.baseline: {unknown('objective', name, choices)}"]


def _check_objective(name: str, settings: object, train: Mapping[Any, Any]) -> list[str]:
    where = f"objectives.{name}"
    if isinstance(settings, Mapping) and "loss" in settings:
        problems = _check_own_name(name, "foreign loss")
        problems += check(Foreign, settings, where, optional=["repair"], others=["train"])
        return problems + _check_train(where, settings, train)
    variant_of = settings.get("variant_of") if isinstance(settings, Mapping) else None
    kind = OBJECTIVES.get(name if variant_of is None else str(variant_of))
    problems = _check_name(name, variant_of)
    if kind is None:
        return problems
    fields = kind.hyperparameters.model_fields
    others = ("train", "variant_of")
    problems += check(kind.hyperparameters, settings, where, optional=fields, others=others)
    if not isinstance(settings, Mapping):
        return problems
    missing = [key for key in fields if key not in {*settings, *ConventionsParams.model_fields}]
    problems += [f"{where}.{key}: missing; add it." for key in missing]
    return problems + _check_train(where, settings, train)


def _check_train(where: str, settings: Mapping[Any, Any], train: Mapping[Any, Any]) -> list[str]:
    """What an objective has in place of `train`'s settings, if anything."""
    if "train" not in settings:
        return []
    where, fields = f"{where}.train", TrainParams.model_fields
    problems = check(TrainParams, settings["train"], where, optional=fields)
    for key, reason in _ALIKE.items():
        common, own = train.get(key), _mapping(settings, "train").get(key)
        if own not in (None, common):
            problems.append(
                f"{where}.{key}: must equal train.{key} ({common!r}), since {reason}, got {own!r}."
            )
    return problems


def _check_name(name: str, variant_of: object) -> list[str]:
    """What an objective is called, and what it is a variant of."""
    if variant_of is None:
        is_ours = name in OBJECTIVES
        return [] if is_ours else [f"objectives: {unknown('objective', name, OBJECTIVES)}"]
    problems = _check_own_name(name, "variant", "variant_of")
    if not problems and variant_of not in OBJECTIVES:
        sentence = unknown("objective", str(variant_of), OBJECTIVES)
        problems = [f"objectives.{name}.variant_of: {sentence}"]
    return problems


def _check_own_name(name: str, what: str, key: str = "loss") -> list[str]:
    """The name of what is no objective by itself: a variant, or a loss of others."""
    if name in OBJECTIVES:
        sentence = f"{name} is an objective of its own; give the {what} another name."
        return [f"objectives.{name}.{key}: {sentence}"]
    if not VARIANT.fullmatch(name):
        sentence = (
            f"a {what}'s name is a folder's too, so it must be of small letters, digits and "
            f"underscores, got {name!r}."
        )
        return [f"objectives: {sentence}"]
    return []


def _check_watch(where: str, section: Mapping[Any, Any]) -> list[str]:
    """DVC watches `watch`: it must be the source itself where that is on this machine."""
    source, watch = section.get("source"), section.get("watch")
    if not isinstance(source, str) or not isinstance(watch, str):
        return []  # `check` has noted it
    if not Path(source).exists() or watch == source:
        return []
    return [
        f"{where}.watch: must equal {where}.source for a local path ({source!r}), got {watch!r}."
    ]


def _check_revision(backbone: Mapping[Any, Any]) -> list[str]:
    source, revision = backbone.get("source"), backbone.get("revision")
    if not isinstance(source, str) or revision is None or not Path(source).exists():
        return []
    return [f"backbone.revision: must be null for a local path ({source!r}), got {revision!r}."]
