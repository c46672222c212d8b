"""Reading a YAML file of settings: safe, each key once, errors as sentences.

Not here: what the settings may be (config.py for the pipeline's, serve/settings.py).
"""

from pathlib import Path
from typing import Any

import yaml

from pipeline.machine.errors import ConfigError


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


def refuse(path: Path, problems: list[str]) -> ConfigError:
    """The error that lists all problems of a file."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return ConfigError(f"{path}: " + "\n  ".join([f"{count}:", *problems]))


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
