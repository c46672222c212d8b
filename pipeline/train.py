"""Stage: token arrays -> one encoder, trained with one objective.

The loop, visible from top to bottom. A sentence's two views are two rows of one forward pass
under different dropout masks; the best step by STS-B dev Spearman is what gets saved. A run that
was interrupted goes on from its last evaluation when it is started again.
"""

import argparse
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from pipeline.config import load as config
from pipeline.data.batches import batch_indices, cutter
from pipeline.data.tokens import TokenArrays
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.machine.device import autocast_dtype, resolve
from pipeline.machine.errors import CollapseError, OtherProcessError
from pipeline.machine.files import replacing, write_together
from pipeline.machine.stage import run_stage
from pipeline.objectives import NonFiniteEmbeddingsError
from pipeline.senteval.sts_files import read_sts_benchmark
from pipeline.training.checkpoint import Checkpoints, Progress, resume, run_key
from pipeline.training.curves import DYNAMICS, as_csv
from pipeline.training.dev import DevSet
from pipeline.training.display import Report, progress_bar
from pipeline.training.identity import Identity, identify
from pipeline.training.monitor import Monitor
from pipeline.training.network import build
from pipeline.training.places import Places
from pipeline.training.processes import ALONE, Processes, joining
from pipeline.training.random_state import State, random_state
from pipeline.training.record import make_record, write_record
from pipeline.training.step import Step

# Settings of `train` that the command line may replace, for shorter runs.
REPLACED = ("steps", "evaluate_every", "record_every")


def train(
    identity: Identity, dev: DevSet, places: Places, report: Report, processes: Processes = ALONE
) -> Progress:
    """Train one encoder and write it.

    Args:
        identity: objective, settings, data.
        dev: what picks the best step.
        places: where to read and write.
        report: called after each step with step, steps in all, and the curve's row if it has one.
        processes: those that train this encoder together.

    Returns:
        How the run went; the first process alone knows its curve.

    Raises:
        CollapseError: the embeddings became equal or not finite.
        InputError: the backbone has no dropout, compiling was asked for where there is no compiler,
            or the processes cannot share a batch evenly.
        WriteError: a place cannot be written, or holds what no training wrote.
        KeyboardInterrupt: passed on; the next call resumes.
    """
    processes.from_first(places.check)
    settings, objective = identity.settings, identity.objective
    processes.check(settings.batch_size)
    device = resolve(processes.device_name(settings.device))
    torch.manual_seed(identity.seed)
    encoder, network = build(identity.backbone, settings, device)
    step = Step(network, objective, settings, processes)
    score = dev.scorer(encoder, autocast_dtype(settings.precision, device))
    processes.draw_apart(identity.seed)
    tokens = TokenArrays.load(places.prepared / "train")
    cut = cutter(tokens, identity.data.pad_id, settings.max_length, device)
    steps = settings.steps or settings.epochs * (len(tokens) // settings.batch_size)
    key = run_key({**identity.as_dict(), "dev": dev.version, "processes": processes.count})
    checkpoints = Checkpoints(places.checkpoints, key)
    last = processes.from_first(checkpoints.last)
    progress = resume(last, network, step.optimiser, processes.rank)
    monitor = Monitor(objective, settings, steps, device)

    def evaluate(random: list[State]) -> dict[str, float]:
        row = monitor.read(progress) | {"dev_spearman": score()}
        if progress.add(row):
            checkpoints.save_best(encoder.model)
        checkpoints.save(progress, network, step.optimiser, random)
        return row

    def finish() -> None:
        checkpoints.load_best(encoder.model)
        record = make_record(identity, progress, steps, processes.describe(device))
        _write(places, encoder, progress, record)
        checkpoints.remove()

    report(progress.step, steps, None)
    batches = batch_indices(len(tokens), settings.batch_size, identity.seed, progress.step)
    while progress.step < steps:
        ids, mask = cut(processes.share(next(batches)))
        outcome = step(ids, mask, left=1 - progress.step / steps)
        progress.step += 1
        if processes.first:  # the others never read what they would keep
            monitor.see(progress.step, outcome)
        row = None
        if monitor.evaluates(progress.step):
            random = processes.collected(random_state(device))
            row = processes.from_first(partial(evaluate, random))
        report(progress.step, steps, row)
    processes.from_first(finish)
    return progress


def _write(
    places: Places, encoder: SentenceEncoder, progress: Progress, record: Mapping[str, Any]
) -> None:
    """Write encoder and tables; the folder appears whole, after the tables, or not at all."""
    with replacing(places.model) as folder:
        encoder.save(folder)
        write_record(folder, record)
        tables = {
            places.curve: as_csv(progress.rows),
            places.dynamics: as_csv(progress.dynamics, DYNAMICS),
        }
        write_together(tables)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Train one encoder with one objective.")
    parser.add_argument("--params", type=Path, default=Path("params.yaml"))
    parser.add_argument("--objective", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--curve", type=Path, required=True)
    parser.add_argument("--dynamics", type=Path, required=True)
    parser.add_argument("--checkpoints", type=Path, required=True)
    for name in REPLACED:
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=_count, help=f"in place of train.{name}")
    return parser


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is out of range; give 1 or more steps")
    return count


def main(argv: list[str] | None = None) -> int:
    """Run the stage; the exit code is 1 with one sentence on stderr for what can be explained."""
    arguments = _parser().parse_args(argv)
    places = Places(
        arguments.prepared,
        arguments.model,
        arguments.curve,
        arguments.dynamics,
        arguments.checkpoints,
    )
    left = f"the same command resumes from {places.checkpoints}."
    try:
        return run_stage("train", lambda: _run(arguments, places), left)
    except OtherProcessError:
        return 1


def _run(arguments: argparse.Namespace, places: Places) -> None:
    places.check()
    name, seed = arguments.objective, arguments.seed
    params = config.load(arguments.params)
    given = {key: getattr(arguments, key) for key in REPLACED}
    replaced = {key: value for key, value in given.items() if value is not None}
    identity = identify(params, name, seed, arguments.prepared, replaced)
    dev = DevSet(read_sts_benchmark(Path(params.evaluate.data), "dev"), params.evaluate.batch_size)
    try:
        with (
            joining(identity.settings.device) as processes,
            progress_bar(f"{name}-{seed}", shown=processes.first) as report,
        ):
            progress = train(identity, dev, places, report, processes)
    except (CollapseError, NonFiniteEmbeddingsError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(
            f"{name} with seed {seed} collapsed: {reason}. Try a lower learning rate (now "
            f"{identity.settings.learning_rate}), or another margin, temperature or coefficient "
            f"(now {identity.objective}); no encoder was written."
        ) from error
    if processes.first:
        sys.stdout.write(
            f"{name}-{seed}: dev Spearman {progress.best_score:.2f} at step {progress.best_step}, "
            f"{progress.rows[-1]['dev_spearman']:.2f} at the last, written to {places.model}\n"
        )


if __name__ == "__main__":
    sys.exit(main())
