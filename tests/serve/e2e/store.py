"""The encoders that the services of these tests serve, and their settings."""

from __future__ import annotations

import csv
import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from serve.encoders.export import export
from tests.tiny import ROOT, change_json, write_bert

if TYPE_CHECKING:
    from collections.abc import Mapping

# Small enough to be reached, large enough for everything that should be answered.
LIMITS = {
    "items": 2048,
    "tokens": 300_000,
    "body_bytes": 262_144,
    "body_seconds": 3.0,
    "all_bodies_bytes": 1_000_000,
    "queue_texts": 4096,
    "wait_seconds": 60.0,
}
WIDE = "vicreg_modified-42"  # the slow one's id
# One layer is exported sooner than several, and can be as slow.
_WIDE = {"hidden_size": 256, "intermediate_size": 8192}
_HYPERPARAMETERS = {
    "vicreg": {"covariance_coefficient": 30.0},
    "vicreg_modified": {"margin": 0.3, "ratio": 1.5, "temperature": 0.05},
}


@dataclass(frozen=True)
class Made:
    """An encoder's folder, not to be written to, and its version."""

    folder: Path
    version: str


@dataclass(frozen=True)
class Store:
    """Encoders as training and evaluation leave them, exported already.

    Attributes:
        exported: where to.
        metrics: the folder of what was measured of them.
        small: an encoder by VICReg, of width 32; may be cut to 16.
        wide: one by modified VICReg, of width 256; takes tens of milliseconds for a long text.
    """

    exported: Path
    metrics: Path
    small: Made
    wide: Made

    @property
    def both(self) -> dict[str, Path]:
        """By their places below `models`: served as `vicreg-42` and `vicreg_modified-42`."""
        return {"vicreg/42": self.small.folder, "vicreg_modified/42": self.wide.folder}


def make_store(root: Path) -> Store:
    """Write both encoders, their exports and their metrics below a folder."""
    exported, metrics = root / "exported", root / "metrics"
    metrics.mkdir(parents=True)

    def make(objective: str, **shape: Any) -> Made:
        folder = write_bert(root / objective, num_hidden_layers=1, **shape)
        SentenceEncoder.load(folder, "cpu").save(folder)
        if objective == "vicreg":
            change_json(folder / "config.json", matryoshka_dimensions=[16])
        (folder / "triad.json").write_text(json.dumps(_record(objective)), encoding="utf-8")
        export(folder, exported)
        version = folder_version(folder)
        committed = (ROOT / f"metrics/{objective}/42.json").read_text(encoding="utf-8")
        measured = json.loads(committed) | {
            "version": version,
            "cosine_quantiles": np.linspace(0.2, 1.0, 101).round(4).tolist(),
        }
        (metrics / f"{objective}.json").write_text(json.dumps(measured), encoding="utf-8")
        return Made(folder, version)

    logging.disable(logging.WARNING)  # torch's exporter about what is not installed
    store = Store(exported, metrics, make("vicreg"), make("vicreg_modified", **_WIDE))
    logging.disable(logging.NOTSET)
    return store


def _record(objective: str) -> dict[str, Any]:
    """What training says of an encoder, with the curve of the committed run."""
    with (ROOT / f"curves/{objective}/42.csv").open(encoding="utf-8") as file:
        curve = [
            {key: float(value) if value else None for key, value in row.items()}
            for row in csv.DictReader(file)
        ]
    return {
        "objective": objective,
        "hyperparameters": _HYPERPARAMETERS[objective],
        "seed": 42,
        "backbone": {"source": "backbones/tiny", "pooling": "cls"},
        "data": {"source": "corpus.txt", "sentences": 300},
        "training": {},
        "hardware": "none",
        "steps": 200,
        "kept": {"step": curve[-1]["step"], "dev_spearman": curve[-1]["dev_spearman"]},
        "best": {"step": curve[1]["step"], "dev_spearman": curve[1]["dev_spearman"]},
        "curve": curve,
    }


def copied(encoder: Path, folder: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(encoder, folder, symlinks=True))


def write_params(folder: Path, store: Store, served: Mapping[str, Path], **changes: Any) -> Path:
    """params.yaml as the project has it, with these encoders at `models`/<name>, and changes."""
    for name, encoder in served.items():
        copied(encoder, folder / "models" / name)
    content = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    limits = content["serve"]["limits"] | LIMITS | changes.pop("limits", {})
    own = {
        "models": str(folder / "models"),
        "encoders": {},
        "exported": str(store.exported),
        "metrics": str(store.metrics),
        "threads": 1,
        "reload_seconds": 0.5,
        "drain_seconds": 1.5,
        "stop_seconds": 5.0,
    }
    content["serve"] |= own | changes | {"limits": limits}
    file = folder / "params.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


def long_texts(count: int, start: int = 0) -> list[str]:
    """Different texts, each too long for any encoder here, so that each takes its longest time.

    Equal ones would be computed once; `start` keeps requests apart.
    """
    return [" ".join([f"{start + index:05d}"] * 80) for index in range(count)]
