"""The encoders that the services of these tests serve, and their settings."""

from __future__ import annotations

import logging
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from serve.encoders.export import export
from tests.serve.e2e.process import Server
from tests.tiny import ROOT, change_json, write_bert

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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


@dataclass(frozen=True)
class Store:
    """Encoders as training and evaluation leave them, exported already; not to be written to.

    Attributes:
        root: holds the folders `exported`, where to, and `metrics`, what was measured of them.
        small: an encoder by VICReg, of width 32; may be cut to 16.
        wide: one by modified VICReg, of width 256; takes tens of milliseconds for a long text.
    """

    root: Path
    small: Path
    wide: Path

    def write_params(self, folder: Path, served: Mapping[str, Path], **changes: Any) -> Path:
        """The project's params.yaml, with these encoders at `models`/<name>, and changes."""
        for name, encoder in served.items():
            shutil.copytree(encoder, folder / "models" / name)
        content = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
        limits = content["serve"]["limits"] | LIMITS | changes.pop("limits", {})
        own = {
            "models": str(folder / "models"),
            "encoders": {},
            "exported": str(self.root / "exported"),
            "metrics": str(self.root / "metrics"),
            "threads": 1,
            "reload_seconds": 0.5,
            "drain_seconds": 1.5,
            "stop_seconds": 5.0,
        }
        content["serve"] |= own | changes | {"limits": limits}
        file = folder / "params.yaml"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        return file

    @contextmanager
    def serving(
        self,
        folder: Path,
        served: Mapping[str, Path] | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        readiness: int = 200,
        **changes: Any,
    ) -> Iterator[Server]:
        """A service of these encoders, or of both as `vicreg-42` and `vicreg_modified-42`."""
        both = {"vicreg/42": self.small, "vicreg_modified/42": self.wide}
        params = self.write_params(folder, both if served is None else served, **changes)
        with Server(folder, {"TRIAD_PARAMS": str(params), **(environment or {})}) as server:
            server.wait_for(readiness)
            yield server


def make_store(root: Path) -> Store:
    """Write both encoders, their exports and their metrics below a folder."""
    (root / "metrics").mkdir()

    def make(objective: str, **shape: Any) -> Path:
        folder = write_bert(root / objective, num_hidden_layers=1, **shape)
        SentenceEncoder.load(folder, "cpu").save(folder)
        if objective == "vicreg":
            change_json(folder / "config.json", matryoshka_dimensions=[16])
        shutil.copy(ROOT / f"encoders/reference/{objective}/triad.json", folder)
        export(folder, root / "exported")
        measured = root / "metrics" / f"{objective}.json"
        shutil.copy(ROOT / f"metrics/{objective}/42.json", measured)
        quantiles = np.linspace(0.2, 1.0, 101).round(4).tolist()
        change_json(measured, version=folder_version(folder), cosine_quantiles=quantiles)
        return folder

    logging.disable(logging.WARNING)  # torch's exporter about what is not installed
    store = Store(root, make("vicreg"), make("vicreg_modified", **_WIDE))
    logging.disable(logging.NOTSET)
    return store


def long_texts(count: int, start: int = 0) -> list[str]:
    """Different texts, each too long for any encoder here, so that each takes its longest time.

    Equal ones would be computed once; `start` keeps requests apart.
    """
    return [" ".join([f"{start + index:05d}"] * 80) for index in range(count)]
