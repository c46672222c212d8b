"""Command: one cell of a reproduction: train, evaluate the last and the best step, measure.

    python -m pipeline.cell --objective vicreg --seed 42 --rate 3.0e-4 --runs results/wiki/runs
        -S profile=wiki -S train.precision=bf16

Each part is a stage's own command, on one thread, so that cells can run side by side and come out
equal. What a cell left below --runs is not made again: the same command resumes. Where the files
lie stands in `pipeline.results.reproduction`, which makes tables of them.
"""

from __future__ import annotations

import csv
import fcntl
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.compose import compose
from pipeline.machine.cores import processor
from pipeline.machine.errors import InputError
from pipeline.machine.settings import unknown
from pipeline.machine.stage import parser, run_stage

if TYPE_CHECKING:
    import argparse

    from pipeline.config.schema import Params

RAN = ("rate", "objective", "seed", "day", "processor")


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the cell is there, 1 with one sentence if not, 130 after Ctrl-C."""
    options = parser("pipeline.cell", __doc__)
    add = options.add_argument
    add("--objective", required=True, help="its name in params.yaml")
    add("--seed", type=int, required=True, help="of the run")
    add("--rate", required=True, help="learning rate, as its folder is named: 3.0e-4")
    add("--runs", type=Path, required=True, help="folder of the cells")
    add("--models", type=Path, default=Path("study"), help="folder of the encoders (study)")
    add("--prepared", type=Path, default=Path("data/study"), help="made if it is not there")
    add("--probes", type=Path, help="folder of sentences to record, as for pipeline.train")
    add("--transfer", action="store_true", help="evaluate the last step on transfer tasks too")
    more = "as for `dvc exp run`: profile=..., or a setting of params.yaml; several times"
    add("-S", "--set-param", action="append", default=[], metavar="KEY=VALUE", help=more)
    return run_stage("cell", _run, options.parse_args(argv), "the same command resumes the cell.")


def _run(options: argparse.Namespace) -> None:
    model: Path = options.models / options.rate / options.objective / str(options.seed)
    model.mkdir(parents=True, exist_ok=True)
    place = model / "params.yaml"
    params = compose(place, [*options.set_param, f"train.learning_rate={options.rate}"])
    if options.objective not in params.objectives:
        sentence = unknown("objective", options.objective, params.objectives)
        raise InputError(f"--objective: {sentence}")
    taken = params.train_for(options.objective).learning_rate
    if taken != float(options.rate):
        raise InputError(
            f"--rate: {options.rate}, but objectives.{options.objective}.train.learning_rate is "
            f"{taken}; give --rate {taken}, or leave that setting out."
        )
    prepare, *others = commands(options, params, model)
    with (options.models / "prepare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first of several cells prepares, the others wait
        _make(*prepare)
    for output, command in others:
        if _make(output, command) and command[0] == "pipeline.train":
            _note(options, model, output)


def _make(output: Path, command: list[object]) -> bool:
    """Run a command whose output is not there yet; whether it was run."""
    if output.exists():
        return False
    words = [sys.executable, "-m", *map(str, command)]
    ended = subprocess.run(words, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False)  # noqa: S603
    if ended.returncode:
        raise InputError(f"{command[0]} failed; the same command resumes the cell.")
    return True


def commands(
    options: argparse.Namespace, params: Params, model: Path
) -> list[tuple[Path, list[object]]]:
    """Each output and the command that makes it, in their order; `model` holds params.yaml."""
    cell, out = f"{options.objective}/{options.seed}", options.runs / options.rate
    place = model / "params.yaml"
    analysis, evaluate = params.analysis, params.evaluate
    prepare: list[object] = ["pipeline.prepare", "--params", place]
    prepare += ["--held-out", analysis.held_out, "--out", options.prepared]
    prepare += ["--report", options.runs / "corpus.json"]
    train: list[object] = ["pipeline.train", "--params", place, "--objective", options.objective]
    train += ["--seed", options.seed, "--prepared", options.prepared, "--model", model / "last"]
    train += ["--best", model / "best", "--curve", out / "curves" / f"{cell}.csv"]
    train += ["--dynamics", out / "dynamics" / f"{cell}.csv", "--checkpoints", model / "unfinished"]
    train += ["--probes", options.probes] if options.probes else []
    settings = analysis.measure
    measure: list[object] = ["pipeline.measure", "--encoder", model / "last"]
    measure += ["--prepared", options.prepared, "--batch-size", analysis.batch_size]
    measure += ["--batches", settings.batches, "--margin", settings.margin, "--seed", settings.seed]
    measure += ["--temperatures", *settings.temperatures, "--steps", *settings.steps]

    def scored(reading: str, step: str, tasks: str) -> tuple[Path, list[object]]:
        path = out / reading / f"{cell}.json"
        own: list[object] = ["pipeline.evaluate", "--encoder", model / step, "--out", path]
        own += ["--data", evaluate.data, "--tasks", tasks, "--setting", evaluate.setting]
        own += ["--batch-size", evaluate.batch_size, "--keep", step, "--dev", params.train.dev]
        scores = ["--scores", out / "scores" / f"{cell}.npz"] if reading == "metrics" else []
        return path, own + scores

    held_out = out / "held_out" / f"{cell}.json"
    return [
        (options.prepared, prepare),
        (out / "records" / f"{cell}.json", train),
        scored("metrics", "last", "sts"),
        scored("best", "best", "sts"),
        *([scored("transfer", "last", "transfer")] if options.transfer else []),
        (held_out, [*measure, "--out", held_out]),
    ]


def _note(options: argparse.Namespace, model: Path, record: Path) -> None:
    """Keep the encoder's record, and write down when and on what it was trained."""
    record.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(model / "last" / "triad.json", record)
    path: Path = options.runs / "cells.csv"
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as text:
        rows = csv.writer(text, lineterminator="\n")
        if is_new:
            rows.writerow(RAN)
        day = datetime.now(UTC).date().isoformat()
        rows.writerow([options.rate, options.objective, options.seed, day, processor()])


if __name__ == "__main__":
    raise SystemExit(main())
