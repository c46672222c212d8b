"""The paper's grid search in two stages: one `dvc exp run` after another.

    python -m pipeline.grid --objective vicreg_modified -S profile=paper-bert

Stage one tries batch sizes and learning rates at m = 0.3, t = 0.05, r = 1. Stage two tries margins,
temperatures and ratios at stage one's best, as far as the objective has them. The best cell is the
first with the highest dev score of the encoder that is kept (`train.keep`). A cell that is an
experiment of this commit already is not run again, so the same command resumes.
"""

import argparse
import hashlib
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pipeline.config.compose import compose
from pipeline.config.schema import Params
from pipeline.machine.errors import InputError
from pipeline.machine.stage import parser, run_stage
from pipeline.objectives import OBJECTIVES

# Li, Zhang & Nie 2024, appendix on the settings.
RATE = {"batch_size": (64, 128, 256, 512), "learning_rate": (5e-6, 1e-5, 3e-5, 5e-5)}
COMPONENTS = {
    "margin": (0.27, 0.3, 0.33, 0.37),
    "temperature": (0.01, 0.03, 0.05),
    "ratio": (1.0, 1.25, 1.5, 1.75, 2.0),
}
START = {"margin": 0.3, "temperature": 0.05, "ratio": 1.0}
# `compare` is left out: a cell has nothing that it could be compared with. `untrained` is not, as
# DVC cannot apply an experiment that lacks a stage's output.
TARGETS = ("untrained", "evaluate")


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if a best cell was found, 1 with one sentence if not, 130 after Ctrl-C."""
    options = parser("pipeline.grid", __doc__)
    add = options.add_argument
    add("--objective", required=True, help="its name in params.yaml")
    add("--seed", type=int, default=42, help="of every run (42)")
    more = "as for `dvc exp run`: profile=..., or a setting of params.yaml; several times"
    add("-S", "--set-param", action="append", default=[], metavar="KEY=VALUE", help=more)
    for key, values in (RATE | COMPONENTS).items():
        kind, words = type(values[0]), " ".join(str(value) for value in values)
        add(f"--{key.replace('_', '-')}", nargs="+", type=kind, default=values, help=words)
    hint = "the cells that finished are kept, and the same command resumes."
    return run_stage("grid", _search, options.parse_args(argv), hint)


def _search(options: argparse.Namespace) -> None:
    for needed in (".git", ".dvc", "dvc.yaml"):
        if not Path(needed).exists():
            raise InputError(
                f"{Path.cwd()} has no {needed}, so it is not the root of a DVC repository with "
                "Triad's pipeline; call it from the checkout's root."
            )
    common, stages = plan(options)
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip()  # noqa: S607
    prefix = f"grid-{options.objective}-{options.seed}"
    metric = f"metrics/{options.objective}/{options.seed}.json:dev_spearman"
    scores = dev_scores(metric)
    best, picked = "", list[str]()
    for number, values in enumerate(stages, 1):
        cells: dict[str, list[str]] = {}
        failures = []
        for cell in itertools.product(*values):
            settings = [*picked, *cell]
            overrides = [*common, *settings]
            short = hashlib.sha256(repr([commit, *overrides]).encode()).hexdigest()[:8]
            name = f"{prefix}-{short}"
            if name not in scores:
                print(f"{name}: -S {' -S '.join(settings)}", flush=True)
                reason = run_experiment(name, overrides)
                scores |= dev_scores(metric)
                if name not in scores:
                    failures.append(reason or "the experiment has no dev score")
                    print(f"{name} failed: {failures[-1]}", flush=True)
            if name in scores:
                cells[name] = settings
                print(f"{name}: dev {scores[name]:.2f}", flush=True)
        if not cells:
            raise InputError(
                f"stage {number}: none of {len(failures)} cells finished; the first of them: "
                f"{failures[0]}"
            )
        best = max(cells, key=scores.__getitem__)  # the first of equals
        picked = cells[best]
        at = f"-S {' -S '.join(picked)}"
        print(f"Stage {number}: the best is {best}, dev {scores[best]:.2f}: {at}")
    print(f"All cells: dvc exp show\nCarry it into the workspace: dvc exp apply {best}")


def plan(options: argparse.Namespace) -> tuple[list[str], list[list[list[str]]]]:
    """The overrides of all cells; and for each stage the overrides that it tries, by setting.

    Raises:
        InputError: a name or value is wrong; every cell has been seen to then, and none has run.
    """
    name = options.objective
    common = [*options.set_param, f"runs.objectives=[{name}]", f"runs.seeds=[{options.seed}]"]
    params = composed(common)
    if "loss" in params.objectives[name]:
        raise InputError(
            f"{name} is a loss of others; a search is for an objective of Triad's own."
        )
    fields = OBJECTIVES[params.kind(name)].hyperparameters.model_fields
    own = params.objectives[name].get("train", {})  # wins over `train`
    paths = {key: f"objectives.{name}.train" if key in own else "train" for key in RATE}
    paths |= {key: f"objectives.{name}" for key in COMPONENTS if key in fields}
    for override in options.set_param:
        if override.partition("=")[0] in {f"{paths[key]}.{key}" for key in RATE}:
            raise InputError(f"-S {override}: the search itself sets this; use its own option.")
    tried = {
        key: [f"{path}.{key}={value}" for value in getattr(options, key)]
        for key, path in paths.items()
    }
    start = [f"{paths[key]}.{key}={START[key]}" for key in COMPONENTS if key in paths]
    # The dev score needs no task; STS-B is the cheapest, as its folder holds the dev pairs too.
    task = [] if Path(params.evaluate.data).is_file() else ["evaluate.tasks=STS-B"]
    common = [*start, *task, *common]
    for values in itertools.zip_longest(*tried.values()):
        composed([*common, *(value for value in values if value)])
    stages = [[tried[key] for key in keys if key in tried] for keys in (RATE, COMPONENTS)]
    return common, [stage for stage in stages if stage]


def composed(overrides: Sequence[str]) -> Params:
    """The settings that a cell would have."""
    with tempfile.TemporaryDirectory() as folder:
        return compose(Path(folder, "params.yaml"), overrides)


def dev_scores(metric: str) -> dict[str, float]:
    """The dev score of each experiment of this commit, by name."""
    from dvc.api import exp_show  # noqa: PLC0415 - slow, and not everywhere

    # One that waits or failed in DVC's queue is shown with the metrics of its commit.
    rows = [row for row in exp_show() if row.get("State") in (None, "Success")]
    # The file's name stands before the metric's where several files have that metric.
    scores = {row["Experiment"]: row.get(metric, row.get("dev_spearman")) for row in rows}
    return {name: dev for name, dev in scores.items() if name and isinstance(dev, float)}


def run_experiment(name: str, overrides: Sequence[str]) -> str | None:
    """`dvc exp run`; why it failed, if it did: the last that its stage said, or else DVC."""
    changes = [word for override in overrides for word in ("-S", override)]
    command = [sys.executable, "-m", "dvc", "exp", "run", "--name", name, *changes, *TARGETS]
    # DVC's stages look for `python` on the path.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = os.environ | {"PATH": path}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as dvc:  # noqa: S603
        try:
            errors = dvc.communicate()[1]
        except KeyboardInterrupt:
            dvc.communicate()  # it has got Ctrl-C too, and puts the workspace in order
            raise
    lines = [line for line in errors.splitlines() if line.strip()] or ["it said nothing"]
    ends = [i for i, line in enumerate(lines) if line.startswith("ERROR: failed to reproduce")]
    return lines[max(ends[0] - 1, 0) if ends else -1].strip() if dvc.returncode else None


if __name__ == "__main__":
    raise SystemExit(main())
