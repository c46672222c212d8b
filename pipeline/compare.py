"""Stage: the metrics, scores and curves of all encoders -> tables and a plot.

    python -m pipeline.compare --metrics metrics --scores scores --curves curves --out results

Each half, STS and transfer, is compared where the metrics hold it. Writes comparison.md,
comparison.json, curves.json, curves.svg and curves.png. Equal inputs give equal bytes.
"""

import argparse
from pathlib import Path

from pipeline.machine.files import write_together
from pipeline.machine.stage import parser, run_stage, whole_number
from pipeline.results.curves import draw, read_curves, rows_for_dvc
from pipeline.results.figures import FORMATS, image
from pipeline.results.layout import json_bytes
from pipeline.results.numbers import differences, in_order
from pipeline.results.runs import read_runs, untrained_dev
from pipeline.results.tables import as_json, as_markdown


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the tables were written, 1 with one sentence if not."""
    return run_stage("compare", _run, _parser().parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    bootstrap = {"resamples": options.resamples, "seed": options.bootstrap_seed}
    runs = in_order(read_runs(options.metrics, options.objectives, options.seeds))
    compared = differences(runs, options.scores, options.baseline, **bootstrap)
    encoders = [(name, run.seed) for name in runs for run in runs[name] if run.seed is not None]
    curves = read_curves(options.curves, encoders)
    table = as_markdown(runs, curves, compared, bootstrap)
    figure = draw(curves, untrained_dev(runs))
    contents = {
        "comparison.md": table.encode(),
        "comparison.json": json_bytes(as_json(runs, curves, compared, bootstrap)),
        "curves.json": json_bytes(rows_for_dvc(curves)),
        **{f"curves.{kind}": image(figure, kind) for kind in FORMATS},
    }
    write_together({options.out / name: content for name, content in contents.items()})
    print(table, end="")
    without = [f"{name}-{seed}" for name, seed in encoders if (name, seed) not in curves]
    if without:
        print(f"\nNo curve in {options.curves} for {', '.join(without)}.")


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.compare", __doc__)
    add = options.add_argument
    add("--metrics", type=Path, required=True, help="folder of <objective>/*.json")
    add("--scores", type=Path, required=True, help="folder of <objective>/*.npz")
    add("--curves", type=Path, required=True, help="folder of <objective>/*.csv")
    add("--out", type=Path, required=True, help="folder of the tables and plots")
    add("--objectives", nargs="+", help="which ones; default: all in the folder")
    add("--seeds", nargs="+", type=int, help="likewise")
    add("--baseline", help="objective that every other one is compared with")
    add("--resamples", type=whole_number(1), required=True, help="of the bootstrap")
    add("--bootstrap-seed", type=whole_number(0), required=True, help="of the bootstrap")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
