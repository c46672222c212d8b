"""Folders of encoders and of exports for the registry, and what it shows."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pipeline.encoder.version import folder_version
from serve.encoders.registry import Registry
from serve.metrics import Metrics
from tests.serve.served import PARAMS
from tests.tiny import change_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from serve.settings import ServeParams
    from tests.serve.conftest import Tiny


class Place:
    """A folder of encoders and one of exports, as training and `serve.encoders.export` leave them.

    Exports are copies: the registry has no reason to make any.
    """

    def __init__(self, root: Path, tiny: Tiny) -> None:
        self.models, self.exports = root / "models", root / "exports"
        self.tiny = tiny
        self.reasons: dict[Path, str] = {}

    @property
    def params(self) -> ServeParams:
        return PARAMS.model_copy(
            update={
                "models": str(self.models),
                "exported": str(self.exports),
                "backend": "onnxruntime-f32",
            }
        )

    def add(self, name: str) -> Path:
        folder = self.models / name
        shutil.copytree(self.tiny.folder, folder)
        self.change(folder, name)
        return folder

    def change(self, folder: Path, text: str) -> str:
        """Another version of an encoder, exported."""
        (folder / "README.md").write_text(text, encoding="utf-8")
        version = folder_version(folder)
        shutil.copytree(self.tiny.exported.folder, self.exports / version, dirs_exist_ok=True)
        return version

    def registry(self, encoders: Mapping[str, str] | None = None) -> Registry:
        return Registry(self.params.model_copy(update={"encoders": encoders or {}}), 1, Metrics())


def sample(registry: Registry, name: str, **labels: str) -> float:
    return registry._metrics.registry.get_sample_value(name, labels) or 0


def reloads(registry: Registry, result: str) -> float:
    return sample(registry, "triad_reloads_total", result=result)


def versions(registry: Registry) -> dict[str, str]:
    return {name: one.version for name, one in registry.encoders.items()}


def damage_graph(place: Place, folder: Path) -> None:
    (place.exports / folder_version(folder) / "graph.onnx").write_bytes(b"no graph")


def damage_tokenizer(place: Place, folder: Path) -> None:
    change_json(place.exports / folder_version(folder) / "tokenizer.json", normalizer=None)


def lose_tokenizer(place: Place, folder: Path) -> None:
    (place.exports / folder_version(folder) / "tokenizer.json").unlink()


def lose_export(place: Place, folder: Path) -> None:
    shutil.rmtree(place.exports / folder_version(folder))
