"""Stage: token arrays -> one encoder, trained with one objective.

The loop, visible from top to bottom. A sentence's two views are two rows of one forward pass
under different dropout masks. The last step's encoder is saved, or the one with the best score on
the dev pairs (`train.keep`). A run that was interrupted resumes from its last checkpoint.
"""

import argparse
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import torch

from pipeline.config import load as config
from pipeline.data.tokens import TokenArrays
from pipeline.machine.device import RandomState, random_state
from pipeline.machine.errors import CollapseError
from pipeline.machine.files import replacing, write_together
from pipeline.machine.stage import parser, run_stage, whole_number
from pipeline.senteval.graded_pairs import read_dev
from pipeline.training.batches import batch_indices, collator
from pipeline.training.checkpoint import Checkpoints, Progress, resume, run_key
from pipeline.training.curves import DYNAMICS, Monitor, Row, as_csv
from pipeline.training.dev import DevSet
from pipeline.training.display import Report, progress_bar, silent
from pipeline.training.identity import Identity, identify, write_record
from pipeline.training.network import build
from pipeline.training.packed import packing
from pipeline.training.places import Places
from pipeline.training.probes import recorder
from pipeline.training.processes import ALONE, Processes, joining
from pipeline.training.step import Step
from pipeline.training.tracking import tracking

# Settings of `train` that the command line may replace, for shorter runs.
REPLACED = ("steps", "evaluate_every", "record_every")


def train(
    identity: Identity, dev: DevSet, places: Places, report: Report, processes: Processes = ALONE
) -> Progress:
    """Train one encoder and write it.

    Args:
        identity: objective, settings, data.
        dev: what is scored during training, and picks the best step.
        places: where to read and write.
        report: called after each step with step, steps in all, and the curve's row, if any.
        processes: those that train this encoder together.

    Returns:
        How the run went; the first process alone knows its curve.

    Raises:
        CollapseError: the embeddings became equal or not finite.
        InputError: what the settings name is not there, or does not suit the others.
        WriteError: a place cannot be written, or holds what no training wrote.
        KeyboardInterrupt: passed on; the next call resumes.
    """
    settings, objective = identity.settings, identity.objective
    processes.alike(partial(processes.check, settings.batch_size))
    device = processes.alike(partial(processes.device, settings.device))
    torch.manual_seed(identity.seed)
    encoder, network = processes.alike(partial(build, identity.backbone, settings, device))
    step = Step(network, objective, settings, processes)
    score = dev.scorer(encoder, step.autocast)
    record = recorder(encoder, network, places.probes, f"{identity.name}/{identity.seed}")
    processes.draw_apart(identity.seed)
    tokens = TokenArrays.load(places.prepared / "train")
    collate = packing(
        collator(tokens, identity.data.pad_id, settings.max_length, device),
        tokens.lengths,
        settings,
        few_shapes=network.few_lengths,
    )
    steps = identity.steps
    key = run_key(
        {
            **identity.as_dict(),
            "dev": dev.version,
            "packed": settings.packed,
            "capture": settings.capture,
            "precision": step.precision,
            "processes": processes.count,
        }
    )
    checkpoints = Checkpoints(places.checkpoints, key)
    last = processes.from_first(checkpoints.last)
    progress = resume(last, network, step.optimizer, processes.rank)
    monitor = Monitor(objective, settings, steps, device)

    def evaluated(random: list[RandomState]) -> dict[str, float]:
        row = monitor.read(progress) | {"dev_spearman": score()}
        record(progress.step)
        if progress.add(row):
            checkpoints.keep_best(encoder.model)
        checkpoints.save(progress, network, step.optimizer, random)
        return row

    def evaluate() -> dict[str, float]:
        random = processes.collected(random_state(device))
        return processes.from_first(partial(evaluated, random))

    def finish() -> None:
        execution = step.execution._asdict()
        taken = {"hardware": processes.describe(device), "training": execution}
        with ExitStack() as outputs:  # all of it appears whole, after the tables, or not at all
            for place, keep in places.encoders(settings.keep).items():
                if keep == "best":
                    checkpoints.load_best(encoder.model)
                folder = outputs.enter_context(replacing(place))
                encoder.save(folder)
                write_record(folder, identity, keep, progress, taken)
            dynamics = as_csv(progress.dynamics, DYNAMICS)
            write_together({places.curve: as_csv(progress.rows), places.dynamics: dynamics})
        checkpoints.remove()
        print(f"{identity.name}-{identity.seed}: {step.execution.sentence()}", flush=True)

    with checkpoints:
        # The backbone's score is where every curve begins.
        report(progress.step, steps, evaluate() if progress.step == 0 else None)
        batches = batch_indices(len(tokens), settings.batch_size, identity.seed, progress.step)
        while progress.step < steps:
            ids, mask = collate(processes.share(next(batches)))
            outcome = step(ids, mask, lr_scale=1 - progress.step / steps)
            progress.step += 1
            if processes.first:  # the others never read what they would keep
                monitor.see(progress.step, outcome)
            report(progress.step, steps, evaluate() if monitor.evaluates(progress.step) else None)
        processes.from_first(finish)
    return progress


def main(argv: list[str] | None = None) -> int:
    """Run the stage; the exit code is 1 with one sentence on stderr for what can be explained."""
    options = _parser().parse_args(argv)
    hint = f"the same command resumes from its checkpoint in {options.checkpoints}, if it left one."
    return run_stage("train", _run, options, hint)


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.train", __doc__)
    options.add_argument("--params", type=Path, default=Path("params.yaml"))
    options.add_argument("--objective", required=True)
    options.add_argument("--seed", type=int, required=True)
    for name in ("prepared", "model", "curve", "dynamics", "checkpoints"):
        options.add_argument(f"--{name}", type=Path, required=True)
    beside = "folder for the best step's encoder too, whatever train.keep says"
    options.add_argument("--best", type=Path, help=beside)
    probes = "folder with a sentences.txt; each evaluation writes OBJECTIVE/SEED/STEP.npy there"
    options.add_argument("--probes", type=Path, help=probes)
    for name in REPLACED:
        option = f"--{name.replace('_', '-')}"
        options.add_argument(option, type=whole_number(1), help=f"in place of train.{name}")
    return options


def _run(options: argparse.Namespace) -> None:
    places = Places.of(options)
    with joining() as processes:
        identity, dev = processes.alike(partial(_read, options, places))
        name = f"{identity.name}-{identity.seed}"
        try:
            if not processes.first:
                train(identity, dev, places, silent, processes)
                return
            print(f"{name}: {identity.plan()}", flush=True)
            tracked = tracking(identity.settings.track, name, identity.as_dict())
            with progress_bar(name) as show, tracked as track:

                def report(step: int, steps: int, row: Row | None) -> None:
                    show(step, steps, row)
                    track(step, steps, row)

                progress = train(identity, dev, places, report, processes)
        except CollapseError as error:
            raise ValueError(identity.why_collapsed(str(error))) from error
    beside = "" if places.best is None else f"; the best one to {places.best}"
    print(
        f"{name}: dev Spearman {progress.last_score:.2f} at the last step, "
        f"{progress.best_score:.2f} at step {progress.best_step}, the best; the "
        f"{identity.settings.keep} one is written to {places.model}{beside}."
    )


def _read(options: argparse.Namespace, places: Places) -> tuple[Identity, DevSet]:
    """What the command line names, before anything is computed."""
    places.check()
    params = config.load(options.params)
    replaced = {key: getattr(options, key) for key in REPLACED}
    identity = identify(params, options.objective, options.seed, options.prepared, replaced)
    return identity, DevSet(read_dev(Path(params.train.dev)), params.evaluate.batch_size)


if __name__ == "__main__":
    sys.exit(main())
