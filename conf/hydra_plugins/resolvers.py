"""What is computed while conf/ is composed into params.yaml: what DVC can watch, and variants.

DVC's stages depend on files; a model or data set on the hub is none. Resolvers for OmegaConf, found
by Hydra because `hydra.plugins_path` in .dvc/config names conf/.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

# Stands for a source that is no local path: a file that is always there.
NOT_LOCAL = "conf/config.yaml"
DEV_PAIRS = Path("STS", "STSBenchmark", "sts-dev.csv")


def watched(source: str) -> str:
    """The source itself if it is a local path, else a file that does not change with it."""
    return source if Path(source).exists() else NOT_LOCAL


def dev_pairs(data: str) -> str:
    """STS-B's dev pairs in SentEval's `downstream` folder or its parent."""
    inner = Path(data, "downstream")
    return (inner if inner.is_dir() else Path(data)).joinpath(DEV_PAIRS).as_posix()


def variant(objective: str, changes: Mapping[str, Any], _root_: Any) -> DictConfig:
    """The settings of an objective with some of them changed."""
    own = OmegaConf.to_container(_root_.objectives[objective], resolve=True)
    return OmegaConf.create({"variant_of": objective, **own, **changes})


OmegaConf.register_new_resolver("watched", watched, replace=True)
OmegaConf.register_new_resolver("dev_pairs", dev_pairs, replace=True)
OmegaConf.register_new_resolver("variant", variant, replace=True)
