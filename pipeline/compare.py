"""Stage: the metrics, scores and curves of all encoders -> tables and a plot.

    python -m pipeline.compare --metrics metrics --scores scores --curves curves --out results

Each half, STS and transfer, is compared where the metrics hold it. Writes comparison.md,
comparison.json, curves.json, curves.svg and curves.png. Equal inputs give equal bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.machine.files import write_together
from pipeline.machine.stage import parser, run_stage
from pipeline.results.curves import read_curves, rows_for_dvc, untrained_score
from pipeline.results.figures import FORMATS, image
from pipeline.results.numbers import dev_scores, intervals, order, rows
from pipeline.results.plot import draw
from pipeline.results.runs import read_runs
from pipeline.results.tables import Comparison, as_json, as_markdown

if TYPE_CHECKING:
    import argparse

WRITTEN = ("comparison.md", "comparison.json", "curves.json", *(f"curves.{k}" for k in FORMATS))


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the tables were written, 1 with one sentence if not."""
    return run_stage("compare", _run, _parser().parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    out: Path = options.out
    runs = read_runs(options.metrics, options.objectives, options.seeds)
    resamples, seed = options.resamples, options.bootstrap_seed
    if resamples < 1 or seed < 0:
        raise ValueError(
            f"bootstrap: {resamples} resamples with seed {seed}; resamples must be 1 or more "
            "(2,000 is usual) and the seed 0 or more."
        )
    differences = intervals(runs, options.scores, options.baseline, resamples=resamples, seed=seed)
    encoders = [(name, k) for name in order(runs) for k in runs.by_objective[name]]
    curves = read_curves(options.curves, encoders)
    comparison = Comparison(
        runs=runs,
        sts=rows(runs, "sts"),
        transfer=rows(runs, "transfer"),
        differences=differences,
        dev=dev_scores(curves),
        untrained=untrained_score(curves),
        resamples=resamples,
        seed=seed,
    )
    figure = draw(curves)
    table = as_markdown(comparison)
    contents = (
        table.encode(),
        _json(as_json(comparison)),
        _json(rows_for_dvc(curves)),
        *(image(figure, kind) for kind in FORMATS),
    )
    names = (out / name for name in WRITTEN)
    write_together(dict(zip(names, contents, strict=True)))
    print(table, end="")
    drawn = {(curve.objective, curve.seed) for curve in curves}
    without = [f"{name}-{k}" for name, k in encoders if (name, k) not in drawn]
    if without:
        print(f"\nNo curve in {options.curves} for {', '.join(without)}.")


def _json(content: dict[str, Any] | list[dict[str, Any]]) -> bytes:
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.compare", __doc__)
    options.add_argument("--metrics", type=Path, required=True, help="folder of <objective>/*.json")
    options.add_argument("--scores", type=Path, required=True, help="folder of <objective>/*.npz")
    options.add_argument("--curves", type=Path, required=True, help="folder of <objective>/*.csv")
    options.add_argument("--out", type=Path, required=True, help="folder of the tables and plots")
    options.add_argument("--objectives", nargs="+", help="which ones; default: all in the folder")
    options.add_argument("--seeds", nargs="+", type=int, help="likewise")
    options.add_argument("--baseline", help="objective that every other one is compared with")
    options.add_argument("--resamples", type=int, required=True, help="of the bootstrap")
    options.add_argument("--bootstrap-seed", type=int, required=True, help="of the bootstrap")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
