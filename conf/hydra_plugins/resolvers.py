"""What is computed while conf/ is composed: what DVC can watch, variants, a learning rate.

DVC's stages depend on files; a model or data set on the hub is none. Resolvers for OmegaConf, found
by Hydra because `hydra.plugins_path` in .dvc/config names conf/.
"""

import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

# By its path: DVC runs where the pipeline's packages need not be installed.
_WATCHED = Path(__file__).parents[2] / "pipeline" / "config" / "watched.py"

_SMALL = 384  # the embedded backbone has 256, BERT-base 768


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
OmegaConf.register_new_resolver("watched", runpy.run_path(str(_WATCHED))["watched"], replace=True)
OmegaConf.register_new_resolver("variant", variant, replace=True)
