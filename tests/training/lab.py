"""A tiny backbone, its prepared sample, and training runs of a few steps on them."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from torch import Tensor

from pipeline.config import load as config
from pipeline.config.schema import Params
from pipeline.senteval.graded_pairs import read_dev
from pipeline.senteval.readers import Pairs
from pipeline.train import main, train
from pipeline.training.checkpoint import Progress
from pipeline.training.dev import DevSet
from pipeline.training.display import Report, silent
from pipeline.training.identity import identify
from pipeline.training.places import Places
from tests.tiny import SAMPLE, contents, prepare_sample, write_params

Changes = Mapping[str, Any] | None

STEPS, EVERY = 6, 2  # of tests/tiny.py's settings


class Interrupted:
    """A report that stops the run at a step, if any, and remembers where calls began."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.steps: list[int] = []

    def __call__(self, step: int, *_: object) -> None:
        self.steps.append(step)
        if step == self.at:
            raise KeyboardInterrupt


@dataclass(frozen=True)
class Lab:
    """A tiny backbone with the sample corpus prepared for it."""

    backbone: Path
    prepared: Path

    def params_file(self, folder: Path, changes: Changes = None) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        sources = {"backbone": self.backbone, "corpus": SAMPLE / "corpus.txt"}
        own = {
            f"{section}.{key}": str(path)
            for section, path in sources.items()
            for key in ("source", "watch")
        }
        return write_params(folder / "params.yaml", own | dict(changes or {}))

    def params(self, folder: Path, changes: Changes = None) -> Params:
        return config.load(self.params_file(folder, changes))

    def places(self, folder: Path) -> Places:
        return Places(
            self.prepared,
            folder / "models/model",
            folder / "curve.csv",
            folder / "dynamics.csv",
            folder / "checkpoints",
        )

    def train(
        self,
        folder: Path,
        name: str = "info_nce",
        seed: int = 1,
        report: Report = silent,
        changes: Changes = None,
    ) -> Progress:
        identity = identify(self.params(folder, changes), name, seed, self.prepared)
        return train(identity, dev_set(), self.places(folder), report)

    def interrupt(
        self, folder: Path, at: int, name: str = "info_nce", changes: Changes = None
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            self.train(folder, name, report=Interrupted(at), changes=changes)

    def main(
        self, folder: Path, name: str = "info_nce", seed: int = 1, changes: Changes = None
    ) -> int:
        return main(self.arguments(folder, name, seed, changes))

    def arguments(
        self, folder: Path, name: str = "info_nce", seed: int = 1, changes: Changes = None
    ) -> list[str]:
        places = self.places(folder)
        paths = {
            "params": self.params_file(folder, changes),
            "prepared": places.prepared,
            "model": places.model,
            "curve": places.curve,
            "dynamics": places.dynamics,
            "checkpoints": places.checkpoints,
        }
        options = [text for key, path in paths.items() for text in (f"--{key}", str(path))]
        return ["--objective", name, "--seed", str(seed), *options]


def dev_set() -> DevSet:
    """Few pairs, so that evaluating costs little."""
    pairs = read_dev(SAMPLE)
    return DevSet(Pairs("dev", pairs.first[:30], pairs.second[:30], pairs.gold[:30]), 64)


def make_lab(backbone: Path, folder: Path) -> Lab:
    return Lab(backbone, prepare_sample(backbone, folder))


def written(folder: Path) -> dict[str, bytes]:
    """Encoder and tables; checkpoints must be gone."""
    assert not (folder / "checkpoints").exists()
    assert [path.name for path in (folder / "models").iterdir()] == ["model"]
    tables = {name: (folder / name).read_bytes() for name in ("curve.csv", "dynamics.csv")}
    return contents(folder / "models/model") | tables


def record(folder: Path) -> Any:
    return json.loads((folder / "models/model/triad.json").read_text(encoding="utf-8"))


def rows(folder: Path, table: str = "curve.csv") -> list[dict[str, str]]:
    with (folder / table).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def weights(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr."""
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("train: ")
    return str(line)
