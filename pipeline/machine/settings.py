"""Settings that people write: YAML read safely, checked by pydantic, explained in sentences.

Not here: any setting (pipeline/config for the pipeline's, serve/settings.py for the service's).
"""

import difflib
import math
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from pipeline.machine.errors import ConfigError

T = TypeVar("T")
_PLAIN = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
_BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
_OUT_OF_RANGE = ("finite", "greater", "less")  # how pydantic's names for it begin


class Settings(BaseModel):
    """A section: every key known and there, every value of its type and in its range.

    A number's description is its unit. A validator raises ValueError with one sentence or more.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _some(items: object) -> object:
    return tuple(items) if items and isinstance(items, list | tuple) else None


# YAML knows lists, and settings do not change: something in a list becomes a tuple.
Listed = Annotated[tuple[T, ...], BeforeValidator(_some)]


def read_yaml(path: Path) -> object:
    """What the file holds.

    Raises:
        ConfigError: the file is missing or no YAML.
    """
    try:
        # The loader is safe: it only refuses more than yaml.SafeLoader does.
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        at = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise ConfigError(f"{path}{at}: is no valid YAML: {error.problem}.") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """YAML whose mappings hold each key once; PyYAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - as its base
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands there more than once", node.start_mark
                )
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def refuse(path: Path, problems: list[str]) -> ConfigError:
    """The error that lists all problems of a file."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return ConfigError(f"{path}: " + "\n  ".join([f"{count}:", *problems]))


def check(
    model: type[BaseModel],
    content: object,
    where: str = "",
    *,
    optional: Collection[str] = (),
    others: Collection[str] = (),
) -> list[str]:
    """What is wrong with a section, in sentences that name the key.

    Args:
        model: what the section must be.
        content: what the file holds there.
        where: the path of keys to it; empty for the whole file.
        optional: fields that may be missing.
        others: keys that are allowed beside the fields and are not looked at.
    """
    own = content
    if isinstance(content, Mapping):
        own = {key: value for key, value in content.items() if key not in others}
    try:
        model.model_validate(own)
    except ValidationError as error:
        sentences = [
            sentence
            for problem in error.errors()
            if problem["type"] != "missing" or problem["loc"][0] not in optional
            for sentence in _explain(problem, model, own, where, others)
        ]
        return list(dict.fromkeys(sentences))  # a list's items may be wrong in the same way
    return []


def unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    """The sentence for a name that is not known, with the nearest one that is."""
    names = list(choices)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown {kind} {name!r}; {hint}Known: {', '.join(names)}."


def shown(value: object) -> str:
    """A value as errors quote it, with a hint where YAML took a number such as 3e-5 for text."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        return repr(value)
    digits, exponent, power = repr(number).partition("e")
    point = "" if "." in digits else ".0"
    return f"{value!r}, which YAML reads as text: write {digits}{point}{exponent}{power}"


def _explain(
    problem: ErrorDetails, hint: Any, value: Any, where: str, others: Collection[str]
) -> list[str]:
    """The sentences for one of pydantic's errors, which are of the innermost field on its path."""
    field, path = None, where
    for name in problem["loc"]:
        if not _is_section(hint):
            break  # an item of a list
        if name not in hint.model_fields:
            names = [*hint.model_fields, *(others if path == where else ())]
            return [f"{path or 'the file'}: {unknown('key', str(name), names)}"]
        field = hint.model_fields[name]
        path = f"{path}.{name}" if path else str(name)
        if name not in value:
            return [f"{path}: missing; add it."]
        hint, value = _section_or_null(field.annotation), value[name]
    if problem["type"] == "value_error":
        return [f"{path}: {sentence}" for sentence in problem["ctx"]["error"].args]
    if field is not None and problem["type"].startswith(_OUT_OF_RANGE):
        return [f"{path}: {problem['input']} is out of range; it must be {_range(field)}."]
    return [f"{path or 'the file'}: expected {_words(hint)}, got {shown(value)}."]


def _is_section(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)


def _section_or_null(hint: Any) -> Any:
    """The section itself where the hint is `section | None`."""
    sections = [kind for kind in get_args(hint) if _is_section(kind)]
    return sections[0] if sections else hint


def _range(field: FieldInfo) -> str:
    parts = list(_parts(field.annotation))
    declared = [field, *(part for part in parts if isinstance(part, FieldInfo))]
    bounds = [
        f"{words} {float(bound) if float in parts else bound}"
        for part in declared
        for limit in part.metadata
        for name, words in _BOUNDS.items()
        if (bound := getattr(limit, name, None)) is not None
    ]
    unit = next((part.description for part in declared if part.description), "no unit")
    return f"{' and '.join(bounds) or 'finite'} ({unit})"


def _parts(hint: Any) -> Iterator[Any]:
    """An annotation and all that it is made of."""
    yield hint
    for argument in get_args(hint):
        yield from _parts(argument)


def _words(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if _is_section(hint):
        return "a mapping of keys"
    if origin is Annotated:
        return _words(arguments[0])
    if origin in (Union, types.UnionType):
        return " or ".join(_words(argument) for argument in arguments)
    if origin is Literal:
        return "one of " + ", ".join(repr(argument) for argument in arguments)
    if origin is tuple:
        return f"a list of at least one {_words(arguments[0]).removeprefix('a ')}"
    return "a mapping" if origin is not None else _PLAIN.get(hint, "null")
