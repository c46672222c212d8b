"""What the services of these tests serve, and their settings; conftest.py makes it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import yaml

from tests.serve.e2e.process import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.serve.e2e.process import Server

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


@dataclass(frozen=True)
class Made:
    """An encoder's folder, not to be written to, and its version."""

    folder: Path
    version: str


@dataclass(frozen=True)
class Store:
    """Encoders that are exported already.

    Attributes:
        exported: where to.
        first: width 32, may be cut to 16.
        wide: width 256, takes tens of milliseconds for a long text.
    """

    exported: Path
    first: Made
    wide: Made


class Launch(Protocol):
    """Starts a service of the test's own, which ends with it."""

    def __call__(
        self, served: Mapping[str, Path], more: Mapping[str, str] | None = None, **changes: Any
    ) -> Server:
        """Encoders by their place below `models`, more environment, changes of section `serve`."""
        ...


def copied(encoder: Path, folder: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(encoder, folder, symlinks=True))


def write_params(folder: Path, exported: Path, served: Mapping[str, Path], **changes: Any) -> Path:
    """params.yaml as the project has it, with these encoders at `models`/<name>, and changes."""
    for name, encoder in served.items():
        copied(encoder, folder / "models" / name)
    content = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    limits = content["serve"]["limits"] | LIMITS | changes.pop("limits", {})
    own = {
        "models": str(folder / "models"),
        "encoders": {},
        "exported": str(exported),
        "metrics": str(folder / "metrics"),
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
