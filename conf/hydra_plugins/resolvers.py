"""What is computed while conf/ is composed into params.yaml: what DVC can watch, and variants.

DVC's stages depend on files; a model or data set on the hub is none. Resolvers for OmegaConf, found
by Hydra because `hydra.plugins_path` in .dvc/config names conf/.
"""

import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

# By its path: DVC runs where the pipeline's packages need not be installed.
_WATCHED = Path(__file__).parents[2] / "pipeline" / "config" / "watched.py"


def variant(objective: str, changes: Mapping[str, Any], _root_: Any) -> DictConfig:
    """The settings of an objective with some of them changed."""
    own = OmegaConf.to_container(_root_.objectives[objective], resolve=True)
    return OmegaConf.create({"variant_of": objective, **own, **changes})


OmegaConf.register_new_resolver("watched", runpy.run_path(str(_WATCHED))["watched"], replace=True)
OmegaConf.register_new_resolver("variant", variant, replace=True)
