"""The story above the tabs: a real run of VICReg and modified VICReg, and its three chapters.

What is drawn (`static/story.json`) is derived from results/wiki, so that the page works without it:

    python -m app.story results/wiki
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from app import STATIC

FILE = STATIC / "story.json"

_OBJECTIVES = ("vicreg", "vicreg_modified")
_STEPS = ("vicreg", "vicreg_dissipation", "vicreg_dissipation_weight", "vicreg_modified")
_SEED = 42
_RATE = "3.0e-4"
_MARGIN = 0.3  # of the modified objective's gate, in this run
_MEASURES = ("hardest_share", "ratio")


def record(results: Path) -> dict[str, Any]:
    """What the story shows of results/wiki.

    Args:
        results: the folder with `runs/`, `reproduction.json` and `probes/`.
    """
    run = results / "runs" / _RATE
    probes = results / "probes"
    return {
        "sentences": (probes / "sentences.txt").read_text(encoding="utf-8").splitlines(),
        "scores": _scores(json.loads((results / "reproduction.json").read_text(encoding="utf-8"))),
        "steps": _steps(run / "curves"),
        "margin": _MARGIN,
        "objectives": {
            name: {
                "dev": _columns(run / "curves" / name / f"{_SEED}.csv", ("dev_spearman",)),
                "dynamics": _columns(run / "dynamics" / name / f"{_SEED}.csv", _MEASURES),
                "probes": _probes(probes / name / str(_SEED)),
            }
            for name in _OBJECTIVES
        },
    }


def _steps(curves: Path) -> dict[str, Any]:
    """The dev score after the last step, VICReg's components being exchanged one after the other.

    A mean over the seeds that all four have.
    """
    seeds = set.intersection(
        *({int(file.stem) for file in (curves / name).glob("*.csv")} for name in _STEPS)
    )
    means = {}
    for name in _STEPS:
        files = (curves / name / f"{seed}.csv" for seed in seeds)
        last = [_columns(file, ("dev_spearman",))["dev_spearman"][-1] for file in files]
        means[name] = round(float(np.mean(np.array(last, np.float64))), 1)
    return {"seeds": sorted(seeds), "dev_spearman": means}


def _columns(file: Path, names: tuple[str, ...]) -> dict[str, list[float | None]]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {
        name: [round(float(row[name]), 4) if row[name] else None for row in rows]
        for name in ("step", *names)
    }


def _scores(reproduction: dict[str, Any]) -> dict[str, Any]:
    names = ("untrained", "info_nce", *_OBJECTIVES)
    last, best = reproduction["last"], reproduction["best"]
    original, modified = _OBJECTIVES
    compared = next(
        row
        for row in last["differences"]
        if (row["objective"], row["reference"]) == (modified, original)
    )

    def averages(objectives: dict[str, Any]) -> dict[str, float]:
        return {name: round(objectives[name]["scores"]["avg"]["mean"], 1) for name in names}

    return {
        "last": averages(last["objectives"]),
        "best": averages(best),
        "difference": [
            round(compared["tasks"]["avg"][key], 1) for key in ("difference", "low", "high")
        ],
        "seeds": compared["shared_seeds"],
    }


def _probes(folder: Path) -> dict[str, Any]:
    """Gates of 24 anchors, and cosines of 24 neighbours, at each step.

    Of each two neighbours in meaning the first is an anchor: training batches hardly ever hold
    two sentences that mean the same. Neighbours are told from the rest by the encoder's own
    output: their cosine, and the mean cosine of sentences of different pairs.
    """
    files = sorted(folder.glob("*.npy"), key=lambda file: int(file.stem))
    steps, leads, neighbours, rest = [], [], [], []
    for file in files:
        first, second, served = (_unit(view) for view in np.load(file).astype(np.float64))
        cosines = first[::2] @ second[::2].T
        aligned = cosines.diagonal().copy()
        np.fill_diagonal(cosines, -np.inf)
        alike = served @ served.T
        pair = np.arange(len(served)) // 2
        steps.append(int(file.stem))
        leads.append(np.round(aligned - cosines.max(axis=1), 3).tolist())
        neighbours.append(np.round(alike[::2, 1::2].diagonal(), 3).tolist())
        rest.append(round(float(alike[pair[:, None] != pair].mean()), 3))
    return {"step": steps, "lead": leads, "neighbours": neighbours, "others": rest}


def _unit(embeddings: Any) -> Any:
    return embeddings / np.linalg.norm(embeddings, axis=-1, keepdims=True)


def render() -> str:
    """The story as HTML: static/story.html with its numbers; static/story.js draws its figures."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    original, modified = (data["objectives"][name] for name in _OBJECTIVES)
    shares = [
        float(
            np.mean(
                [share for share in objective["dynamics"]["hardest_share"] if share is not None]
            )
        )
        for objective in (original, modified)
    ]
    ratios = [ratio for ratio in original["dynamics"]["ratio"] if ratio is not None]
    apart, low, high = data["scores"]["difference"]
    return (
        (STATIC / "story.html")
        .read_text(encoding="utf-8")
        .format(
            margin=data["margin"],
            step=data["steps"]["dev_spearman"],
            step_seeds=", ".join(map(str, data["steps"]["seeds"])),
            share_original=shares[0],
            share_modified=shares[1],
            ratio_low=min(ratios),
            ratio_high=max(ratios),
            last=data["scores"]["last"],
            best=data["scores"]["best"],
            seeds=", ".join(map(str, data["scores"]["seeds"])),
            apart=apart,
            low=low,
            high=high,
        )
    )


def main() -> None:
    """Command line: derive static/story.json from a folder of results."""
    FILE.write_text(json.dumps(record(Path(sys.argv[1])), separators=(",", ":")), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
