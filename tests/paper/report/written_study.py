"""A study's folder as its stages leave it, with numbers that are chosen."""

import copy
import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pipeline.config import load as config
from pipeline.paper.held_out.measurements import measure
from pipeline.paper.held_out.schema import Data, Measurement, Settings
from pipeline.paper.report.study import Study, read_study
from pipeline.senteval.tasks import STS_TASKS
from pipeline.training.curves import COLUMNS, DYNAMICS
from tests.paper.held_out.test_measurements import random_views
from tests.tiny import write_params

SETTINGS = Settings(margin=0.3, temperatures=(0.01, 0.05, 0.3), steps=(0.1, 0.5, 2.0), seed=1)
DATA = Data(source="wiki.txt", hash="abc", held_out=300, batches=2, batch_size=16, sentences=32)


def variant(kind: str, usual: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    return {"variant_of": kind, **usual, **changes}


PARADIGM = {"margin": 0.3, "temperature": 0.05, "ratio": 1.0}
VICREG = {"margin": 0.3, "temperature": 0.05, "ratio": 1.5}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "paradigm": PARADIGM,
    "paradigm_open": variant("paradigm", PARADIGM, margin=2.0),
    "paradigm_ratio_200": variant("paradigm", PARADIGM, ratio=2.0),
    "paradigm_temperature_300": variant("paradigm", PARADIGM, temperature=3.0),
    "arccon": {"temperature": 0.05, "angular_margin": 0.17},
    "vicreg": {"covariance_coefficient": 30.0},
    "vicreg_dissipation": {"covariance_coefficient": 30.0, "margin": 0.3},
    "vicreg_modified": VICREG,
    "vicreg_modified_both": variant("vicreg_modified", VICREG, positive_gradient="both"),
    "vicreg_modified_frozen": variant(
        "vicreg_modified", VICREG, train={"freeze_embeddings": True, "weight_decay": 0.0}
    ),
}


class WrittenStudy:
    """Files below `folder`, and the params.yaml that asks for them."""

    def __init__(self, folder: Path, seeds: tuple[int, ...] = (1, 2)) -> None:
        self.folder, self.seeds = folder, seeds
        folder.mkdir(parents=True, exist_ok=True)
        changes = {
            "objectives": {**OBJECTIVES, "info_nce": {"temperature": 0.05}},
            "runs.objectives": ["info_nce", "vicreg"],
            "analysis.objectives": list(OBJECTIVES),
            "analysis.simulation.objectives": ["info_nce"],
            "analysis.seeds": list(seeds),
        }
        self.params = write_params(folder / "params.yaml", changes)
        self.json("untrained.json", measured("backbone", None, 0.8, 0.5))

    def read(self) -> Study:
        return read_study(config.load(self.params), self.folder)

    def add_all(self) -> Self:
        """A run of every cell; scores grow with the objective's place in the list."""
        for place, name in enumerate(OBJECTIVES):
            for seed in self.seeds:
                self.add(name, seed, dev=(50.0 + place + seed, 40.0 + place + seed))
        return self

    def add(
        self,
        name: str,
        seed: int,
        dev: tuple[float, float] = (60.0, 55.0),
        cosines: tuple[float, float] = (0.9, 0.2),
        sts: float = 50.0,
    ) -> None:
        """One run: best and last dev score, positive and negative cosine, STS score."""
        rows = [
            dict.fromkeys(COLUMNS, 0.5) | {"step": 10 * (place + 1), "dev_spearman": score}
            for place, score in enumerate(dev)
        ]
        self.csv(f"curves/{name}/{seed}.csv", rows)
        steps = [
            dict.fromkeys(DYNAMICS, 0.5) | {"step": step, "ratio": step / 10}
            for step in (5, 10, 15, 20)
        ]
        self.csv(f"dynamics/{name}/{seed}.csv", steps)
        self.json(f"held_out/{name}/{seed}.json", measured(name, seed, *cosines))
        self.json(f"metrics/{name}/{seed}.json", metrics(name, seed, sts))

    def csv(self, path: str, rows: list[dict[str, Any]]) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8", newline="") as text:
            writer = csv.DictWriter(text, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)

    def json(self, path: str, content: Mapping[str, Any]) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")


def metrics(name: str, seed: int, score: float) -> dict[str, Any]:
    means = dict.fromkeys(("spearman", "pearson", "mean", "weighted_mean"), score)
    task = means | {"pairs": 100, "label": "other", "subsets": {}}
    return {
        "encoder": f"{name}-{seed}",
        "version": "abc",
        "objective": name,
        "seed": seed,
        "data": "sample",
        "missing": [other for other in STS_TASKS if other != "STS-B"],
        "tasks": ["STS-B"],
        "sts": {"STS-B": task},
        "average": score,
    }


def measurement(name: str, seed: int | None, noise: float = 0.5) -> Measurement:
    """Of random embeddings."""
    batches = [random_views(2 * (seed or 0) + batch, 16, 8, noise) for batch in (0, 1)]
    return Measurement(
        encoder={"name": name if seed is None else f"{name}-{seed}"},
        data=DATA,
        settings=SETTINGS,
        hardware="an abacus",
        **measure(batches, SETTINGS),
    )


RANDOM = measurement("random", 0).model_dump()


def measured(name: str, seed: int | None, positive: float, negative: float) -> dict[str, Any]:
    """Of random embeddings too, but for the mean cosines and the hardest negative's shares."""
    content = copy.deepcopy(RANDOM)
    content["encoder"]["name"] = name if seed is None else f"{name}-{seed}"
    means = {"positive": positive, "negative": negative, "gap": positive - negative}
    for key, mean in means.items():
        content["cosines"][key]["mean"] = mean
    for row, share in zip(content["hardest_share"]["by_temperature"], (0.5, 0.4, 0.1), strict=True):
        row["open"] |= {"weight_share": share, "push_share": share / 2}
    return content
