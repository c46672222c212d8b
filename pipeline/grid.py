"""The paper's grid search in two stages, as DVC experiments; the same command resumes it.

    python -m pipeline.grid --objective vicreg_modified --profile paper-bert --out results/grid

Stage one tries batch sizes and learning rates, stage two margins, temperatures and ratios at stage
one's best, as far as the objective has them. A cell is one run of one seed. The best is picked by
STS-B dev only. Writes <out>/<objective>.json and .md. Not here: how a cell is run (dvc.yaml).
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.grid_search.cells import COMPONENTS, RATE, Grids, Search, Settings
from pipeline.grid_search.completion import Experiments, complete
from pipeline.grid_search.experiments import DvcExperiments
from pipeline.grid_search.outcomes import PENDING, Outcomes, State, count
from pipeline.grid_search.request import Request, resolve
from pipeline.grid_search.tables import Stage, as_json, as_markdown
from pipeline.machine.errors import InputError
from pipeline.machine.files import write_together
from pipeline.machine.stage import parser, run_stage

if TYPE_CHECKING:
    import argparse

# Li, Zhang & Nie 2024, appendix on the settings.
VALUES = {
    "batch_size": (64, 128, 256, 512),
    "learning_rate": (5e-6, 1e-5, 3e-5, 5e-5),
    "margin": (0.27, 0.3, 0.33, 0.37),
    "temperature": (0.01, 0.03, 0.05),
    "ratio": (1.0, 1.25, 1.5, 1.75, 2.0),
}
START = {"margin": 0.3, "temperature": 0.05, "ratio": 1.0}
PLURAL = {
    "batch_size": "batch-sizes",
    "learning_rate": "learning-rates",
    "margin": "margins",
    "temperature": "temperatures",
    "ratio": "ratios",
}
INTERRUPTED = (
    "what ran is stopped and counts as cut off, the other cells stay in DVC's queue: the same "
    "command goes on."
)


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if all cells have ended, 1 with one sentence if not, 130 after Ctrl-C."""
    return run_stage("grid", _run, _parser().parse_args(argv), INTERRUPTED)


def _run(options: argparse.Namespace) -> None:
    _check_options(options)
    request = Request(
        objective=options.objective,
        profile=options.profile,
        seed=options.seed,
        given=tuple(options.set),
        copy_paths=tuple(options.copy_paths),
        values={key: tuple(getattr(options, key)) for key in VALUES},
        start={key: getattr(options, f"start_{key}") for key in START},
    )
    search, grids = resolve(request)
    if search.uncommitted is not None:
        _tell(f"Uncommitted changes ({search.uncommitted}) go into the cells.")
    experiments = DvcExperiments(
        objective=search.objective,
        seed=search.seed,
        commit=search.commit,
        jobs=options.jobs,
        copy_paths=request.copy_paths,
        poll_seconds=options.poll_seconds,
    )
    name = run_search(search, grids, experiments, options.out, keep_failed=options.keep_failed)
    _tell(f"All cells: {options.out / search.objective}.md")
    _tell(f"Carry it into the workspace: dvc exp apply {name}")


def run_search(
    search: Search, grids: Grids, experiments: Experiments, out: Path, *, keep_failed: bool = False
) -> str:
    """Both stages, with the tables written whenever a cell has ended; the best one's experiment.

    Raises:
        ValueError: no cell of a stage finished, or some were cut off.
        KeyboardInterrupt: passed on.
    """
    stages: list[Stage] = []

    def run(title: str, cells: list[Settings]) -> Settings:
        named = {search.name(cell): cell for cell in cells}
        stages.append(Stage(title, named, {}))

        def report(outcomes: Outcomes) -> None:
            _tell_changes(len(stages), stages[-1].outcomes, outcomes)
            stages[-1] = Stage(title, named, outcomes)
            _write(search, stages, out)

        overrides = {name: search.overrides(cell) for name, cell in named.items()}
        complete(overrides, experiments, report, keep_failed=keep_failed)
        return _best(search, stages)

    best = run("batch size and learning rate", grids.first())
    second = grids.second(best)
    if second:
        best = run(", ".join(grids.components), second)
    return search.name(best)


def _best(search: Search, stages: list[Stage]) -> Settings:
    """The last stage's best cell, told."""
    number, stage = len(stages), stages[-1]
    name = stage.best
    if name is None:
        reasons = [outcome.reason for outcome in stage.outcomes.values() if outcome.reason]
        raise ValueError(
            f"stage {number}: none of {len(stage.cells)} cells finished; the first of them: "
            f"{reasons[0] if reasons else 'no reason is known'}"
        )
    outcome = stage.outcomes[name]
    _tell(f"Stage {number}: best by STS-B dev is {name}: {outcome.dev:.2f} at step {outcome.step}")
    _tell(f"  -S {' -S '.join(search.changes(stage.cells[name]))}")
    return stage.cells[name]


def _write(search: Search, stages: list[Stage], out: Path) -> None:
    path = out / search.objective
    contents = {".json": as_json(search, stages), ".md": as_markdown(search, stages)}
    write_together({path.with_suffix(kind): content for kind, content in contents.items()})


def _tell_changes(number: int, before: Outcomes, after: Outcomes) -> None:
    for name, outcome in after.items():
        if name not in before or outcome == before[name] or outcome.state in PENDING:
            continue
        reason = f": {outcome.reason}" if outcome.reason else ""
        dev = f"dev {outcome.dev:.2f}" if outcome.state is State.FINISHED else outcome.state
        _tell(f"  {name}: {dev}{reason}")
    _tell(f"Stage {number}: {count(after)}")


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _check_options(options: argparse.Namespace) -> None:
    if options.jobs < 1 or options.poll_seconds <= 0:
        raise InputError("--jobs must be 1 or more, and --poll-seconds more than 0.")
    for module in ("dvc", "hydra"):
        if importlib.util.find_spec(module) is None:
            raise InputError(
                f"{module} is not installed; install what `dvc repro` needs: "
                "pip install -c constraints.txt -e '.[pipeline]'"
            )


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.grid", __doc__)
    options.allow_abbrev = False
    add = options.add_argument
    add("--objective", required=True, help="one of pipeline.objectives.OBJECTIVES")
    add("--profile", required=True, help="one of conf/profile")
    add("--out", type=Path, required=True, help="folder of the tables")
    add("--seed", type=int, default=42, help="of every run (42)")
    add("--jobs", type=int, default=1, help="DVC's workers: runs at a time (1)")
    add("--copy-paths", nargs="+", action="extend", default=[], help="untracked data of the runs")
    add("--set", nargs="+", action="extend", default=[], help="more settings, key=value")
    for key in (*RATE, *COMPONENTS):
        kind = int if key == "batch_size" else float
        words = " ".join(f"{value:g}" for value in VALUES[key])
        add(f"--{PLURAL[key]}", dest=key, nargs="+", type=kind, default=VALUES[key], help=words)
    for key, value in START.items():
        add(f"--start-{key}", type=float, default=value, help=f"in stage one ({value:g})")
    add("--keep-failed", action="store_true", help="do not try cells again that failed before")
    add("--poll-seconds", type=float, default=15.0, help="between two looks at the queue (15)")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
