"""Folders as the stages before `compare` leave them, with scores that are chosen."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.compare import main
from pipeline.encoder.record import Origin
from pipeline.results.metrics import metrics, scores_archive
from pipeline.senteval.benchmark import Half, Result
from pipeline.senteval.classifier import SettingName
from pipeline.senteval.known import Label
from pipeline.senteval.similarity import spearman
from pipeline.senteval.sts import SubsetScore, TaskScore
from pipeline.senteval.tasks import STS_TASKS, TRANSFER_TASKS
from pipeline.senteval.transfer import TransferScore

close = partial(pytest.approx, rel=0, abs=1e-6)  # what is written has six digits
NOBODY = Origin(None, None, None, None, None)
CURVE = "step,dev_spearman,loss\n0,50.0,3.1\n50,61.5,2.2\n100,60.25,2.0\n"


def result(
    tasks: dict[str, int], noise: float, seed: int, label: Label = "other"
) -> Half[TaskScore]:
    """Cosines that follow gold up to noise of its own, on tasks with so many pairs."""
    scores = []
    for task, pairs in tasks.items():
        gold = np.random.default_rng(pairs).integers(0, 6, pairs).astype(float)
        draw = np.random.default_rng([seed, pairs, round(100 * noise)])
        cosine = gold + noise * draw.normal(size=pairs)
        score = spearman(cosine, gold)
        subsets = {"test": SubsetScore(score, pairs)}
        scores.append(TaskScore(task, score, score, subsets, cosine, gold, label))
    return Half(tuple(scores))


def clusters(result: Half[TaskScore], pairs: int = 1) -> dict[str, np.ndarray]:
    """So many neighbours depend on one another; tasks share no cluster."""
    ends = np.cumsum([0, *(score.pairs for score in result.scores)])
    starts = zip(result.scores, ends[:-1], strict=True)
    return {score.task: start + np.arange(score.pairs) // pairs for score, start in starts}


def transfer_result(accuracies: dict[str, float], label: Label = "other") -> Half[TransferScore]:
    scores = [
        TransferScore(task, accuracy, 50.0, None, (1e-5,), {"all": 400}, label)
        for task, accuracy in accuracies.items()
    ]
    return Half(tuple(scores))


def joined(sts: Half[TaskScore], transfer: Half[TransferScore], setting: SettingName) -> Result:
    """Both halves; of one that was measured, the other tasks were asked for in vain."""
    there = [score.task for score in Result(sts, transfer, setting).scores]
    asked = STS_TASKS + (TRANSFER_TASKS if transfer.scores else ())
    return Result(sts, transfer, setting, tuple(task for task in asked if task not in there))


class Project:
    """Folders as the stages before leave them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        objective: str,
        seed: int = 1,
        *,
        noise: float = 2,
        tasks: dict[str, int] | None = None,
        transfer: dict[str, float] | None = None,
        setting: SettingName = "fast",
        data: str = "sample",
        label: Label = "other",
        curve: str | None = CURVE,
    ) -> None:
        origin = Origin(objective, seed, steps=None, step=None, dev_spearman=None)
        sts = result({"STS-B": 300} if tasks is None else tasks, noise, seed, label)
        both = joined(sts, transfer_result(transfer or {}, label), setting)
        self.measured(f"{objective}/{seed}", both, origin, data)
        if curve is not None:
            self.write(f"curves/{objective}/{seed}.csv", curve.encode())

    def add_untrained(
        self,
        name: str = "untrained",
        *,
        noise: float = 6,
        tasks: dict[str, int] | None = None,
        dev: float | None = None,
    ) -> None:
        sts = result({"STS-B": 300} if tasks is None else tasks, noise, 0)
        both = joined(sts, transfer_result({}), "fast")
        self.measured(name, both, replace(NOBODY, dev_spearman=dev))

    def measured(
        self,
        place: str,
        result: Result,
        origin: Origin,
        data: str = "sample",
        reading: str = "metrics",
    ) -> None:
        """What `evaluate` leaves; scores, too, of what `compare` reads."""
        content = metrics(origin.name("bert-mini"), "abc", origin, result, Path(data)).content()
        self.write(f"{reading}/{place}.json", json.dumps(content).encode())
        if reading == "metrics":
            self.write(f"scores/{place}.npz", scores_archive(result.sts, clusters(result.sts)))

    def write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def compare(self, *more: str, out: str = "results", resamples: int = 200) -> int:
        folders = [
            text
            for name in ("metrics", "scores", "curves")
            for text in (f"--{name}", str(self.folder / name))
        ]
        bootstrap = ["--resamples", str(resamples), "--bootstrap-seed", "1"]
        return main([*folders, "--out", str(self.folder / out), *bootstrap, *more])

    def json(self, name: str = "comparison") -> Any:
        path = self.folder / "results" / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8"))

    def markdown(self) -> str:
        return (self.folder / "results" / "comparison.md").read_text(encoding="utf-8")

    def difference(self, objective: str, reference: str) -> Any:
        """What comparison.json says of two."""
        (found,) = (
            one
            for one in self.json()["differences"]
            if (one["objective"], one["reference"]) == (objective, reference)
        )
        return found

    def table(self, caption: str) -> list[list[str]]:
        """Cells of the table below the caption that begins so; its header first."""
        blocks = self.markdown().split("\n\n")
        place = next(k for k, block in enumerate(blocks) if block.startswith(caption))
        header, _, *body = blocks[place + 1].splitlines()
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in (header, *body)]
