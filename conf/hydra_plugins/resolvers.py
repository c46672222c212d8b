"""What is computed while conf/ is composed: what DVC can watch, variants, a learning rate.

DVC's stages depend on files; a model or data set on the hub is none. Resolvers for OmegaConf, found
by Hydra because `hydra.plugins_path` in .dvc/config names conf/.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

# Stands for a source that is no local path: a file that is always there.
_NOT_LOCAL = "conf/config.yaml"
_SMALL = 384  # the embedded backbone has 256, BERT-base 768


def watched(source: str) -> str:
    """The source itself if it is a local path, else a file that does not change with it."""
    return source if Path(source).exists() else _NOT_LOCAL


def variant(objective: str, changes: Mapping[str, Any], _root_: Any) -> DictConfig:
    """The settings of an objective with some of them changed."""
    own = OmegaConf.to_container(_root_.objectives[objective], resolve=True)
    return OmegaConf.create({"variant_of": objective, **own, **changes})


def rate(backbone: str) -> float:
    """A learning rate by the backbone's size: one that is not on this machine counts as large."""
    config = Path(backbone, "config.json")
    content = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
    return 3.0e-4 if content.get("hidden_size", 768) <= _SMALL else 1.0e-5


def needed(setting: str) -> str:
    """Stands for a setting that nobody can choose for the user."""
    raise ValueError(f"this profile needs -S {setting}=...; add it to the command.")


OmegaConf.register_new_resolver("needed", needed, replace=True)
OmegaConf.register_new_resolver("rate", rate, replace=True)
OmegaConf.register_new_resolver("watched", watched, replace=True)
OmegaConf.register_new_resolver("variant", variant, replace=True)
