"""Plain YAML content -> frozen dataclasses: every key known and there, every value as declared.

What is wrong is collected as sentences that name the key, so that all of it is reported at once.
Not here: any setting (params.py), ranges and choices (bounds.py).
"""

import dataclasses
import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from pipeline.machine.bounds import shown, violation

T = TypeVar("T")


def unknown(where: str, kind: str, given: str, known: Iterable[str]) -> str:
    """The sentence for a name that is not known, with the nearest one that is."""
    names = list(known)
    near = difflib.get_close_matches(given, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{where}: unknown {kind} {given!r}; {hint}Known: {', '.join(names)}."


def section(schema: type[T], content: object, where: str, problems: list[str]) -> T | None:
    """An instance of the dataclass `schema`, or None after noting what is wrong or missing."""
    before = len(problems)
    values = present(schema, content, where, problems)
    if isinstance(content, Mapping):
        missing = [name for name in _fields(schema) if name not in content]
        problems.extend(f"{_path(where, name)}: missing; add it." for name in missing)
    return schema(**values) if len(problems) == before else None


def present(
    schema: type,
    content: object,
    where: str,
    problems: list[str],
    others: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The values of those fields that are given; what is wrong with them is noted.

    Args:
        schema: a dataclass.
        content: what the file holds there.
        where: the path of keys to it; empty for the whole file.
        problems: sentences are appended here.
        others: keys that are allowed beside the fields and are not looked at.
    """
    if not isinstance(content, Mapping):
        problems.append(f"{where or 'the file'}: expected a mapping of keys, got {content!r}.")
        return {}
    fields, hints = _fields(schema), typing.get_type_hints(schema)
    known = [*fields, *others]
    problems.extend(
        unknown(where or "the file", "key", str(key), known) for key in content if key not in known
    )
    return {
        name: value(field, hints[name], content[name], _path(where, name), problems)
        for name, field in fields.items()
        if name in content
    }


def value(
    field: dataclasses.Field[Any], hint: Any, given: object, path: str, problems: list[str]
) -> Any:
    """What a field gets for a value of the file; what is wrong with it is noted."""
    if dataclasses.is_dataclass(hint):
        return section(typing.cast("type", hint), given, path, problems)
    if not _matches(hint, given):
        problems.append(f"{path}: expected {_words(hint)}, got {shown(given)}.")
        return None
    for item in given if isinstance(given, list) else [given]:
        problem = None if item is None else violation(field, item)
        if problem is not None:
            problems.append(f"{path}: {problem}.")
    return tuple(given) if isinstance(given, list) else given


def _path(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _fields(schema: type) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(schema)}


def _matches(hint: Any, given: object) -> bool:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return any(_matches(argument, given) for argument in arguments)
    if origin is Literal:
        return given in arguments
    if origin is tuple:
        items = given if isinstance(given, list) else []
        return bool(items) and all(_matches(arguments[0], item) for item in items)
    if origin is not None:
        return isinstance(given, Mapping)
    if hint in (int, float):
        return isinstance(given, int | hint) and not isinstance(given, bool)
    return isinstance(given, hint)


def _words(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return " or ".join(_words(argument) for argument in arguments)
    if origin is Literal:
        return "one of " + ", ".join(repr(argument) for argument in arguments)
    if origin is tuple:
        return f"a list of at least one {_words(arguments[0]).removeprefix('a ')}"
    if origin is not None:
        return "a mapping"
    plain = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
    return plain.get(hint, "null")
