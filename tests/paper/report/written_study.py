"""A study's folder as its stages leave it, with numbers that are chosen."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pipeline.config import load as config
from pipeline.paper.report.study import Study, read_study
from pipeline.senteval.tasks import STS_TASKS
from pipeline.training.curves import COLUMNS, DYNAMICS
from tests.tiny import write_params

TEMPERATURES, STEPS = (0.05, 0.3), (0.5, 1.0)
UNIFORM = 1 / 127


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
        steps = [dict.fromkeys(DYNAMICS, 0.5) | {"step": step} for step in (5, 10, 15, 20)]
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


def measured(
    name: str,
    seed: int | None,
    positive: float,
    negative: float,
    shares: tuple[float, float] = (0.4, 0.1),
) -> dict[str, Any]:
    """As pipeline.measure writes it, with coarse densities."""
    grid = {"start": -1.0, "stop": 1.0, "points": 3}
    mean = {"positive": positive, "negative": negative, "gap": positive - negative}
    share = [
        {
            "temperature": temperature,
            **{
                which: {"weight_share": one, "push_share": one / 2, "gradient_share": one / 3}
                for which in ("open", "all")
            },
        }
        for temperature, one in zip(TEMPERATURES, shares, strict=True)
    ]
    ratios = {"0": 0.1, "25": 0.4, "50": 0.5, "75": 0.6, "100": 1.1}
    return {
        "encoder": {"name": name if seed is None else f"{name}-{seed}", "version": "abc"},
        "data": {
            "source": "corpus.txt",
            "hash": "d",
            "held_out": 300,
            "batches": 2,
            "batch_size": 128,
            "sentences": 256,
        },
        "settings": {"margin": 0.3, "temperatures": TEMPERATURES, "steps": STEPS, "seed": 1},
        "hardware": "an abacus",
        "cosines": {
            **{key: {"mean": one, "deviation_over_batches": 0.01} for key, one in mean.items()},
            "grid": grid,
            "density": {key: [0.1, 0.5, 0.2] for key in ("positive", "negative")},
            "density_pairs": {"positive": 256, "negative": 20000},
        },
        "hardest_share": {
            "uniform": UNIFORM,
            "anchors": 256,
            "open": 128,
            "open_share": 0.5,
            "by_temperature": share,
        },
        "minimum_ratio": {
            "anchors": 128,
            "grid": grid,
            "by_step": [
                {
                    "step": step,
                    "share_above_one": 0.1,
                    "share_one_serves": 0.8,
                    "share_undefined": 0.0,
                    "quantiles": ratios,
                    "density": [0.1, 0.5, 0.2],
                }
                for step in STEPS
            ],
        },
        "angles": {key: {"mean": 0.5, "deviation": 0.1} for key in ("positive", "negative")},
    }
