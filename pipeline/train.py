"""Stage: token arrays -> one encoder, trained with one objective.

The loop, visible from top to bottom. A sentence's two views are two rows of one forward pass
under different dropout masks; the best step by STS-B dev Spearman is what gets saved. A run that
was interrupted goes on from its last evaluation when it is started again.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_

from pipeline import config
from pipeline.atomic import replacing, write_together
from pipeline.batches import batch_indices, two_views
from pipeline.device import autocast_dtype, describe, resolve
from pipeline.encoder import SentenceEncoder
from pipeline.objectives import NonFiniteEmbeddingsError
from pipeline.senteval.sts_files import read_sts_benchmark
from pipeline.stage import run_stage
from pipeline.tokens import TokenArrays
from pipeline.training.checkpoint import Checkpoints, Progress, run_key
from pipeline.training.curve import BATCH, DYNAMICS, as_csv
from pipeline.training.dev import CollapseError, DevSet
from pipeline.training.display import progress_bar
from pipeline.training.dynamics import dynamics
from pipeline.training.first_token import only_first_token
from pipeline.training.identity import Identity, identify
from pipeline.training.network import (
    TrainingNetwork,
    freeze_embeddings,
    make_head,
    refuse_without_dropout,
)
from pipeline.training.places import Places
from pipeline.training.record import write_record

# Settings of `train` that the command line may replace, for shorter runs.
REPLACED = ("steps", "evaluate_every", "record_every")

Report = Callable[[int, int, Mapping[str, float] | None], None]


def train(identity: Identity, dev: DevSet, places: Places, report: Report) -> Progress:
    """Train one encoder and write it.

    Args:
        identity: objective, settings, data.
        dev: what picks the best step.
        places: where to read and write.
        report: called after each step with step, steps in all, and the curve's row if it has one.

    Returns:
        How the run went.

    Raises:
        CollapseError: the embeddings became equal or not finite.
        BackboneError: the backbone has no dropout.
        WriteError: a place cannot be written, or holds what no training wrote.
        KeyboardInterrupt: passed on; the next call resumes.
    """
    places.check()
    settings, objective = identity.settings, identity.objective
    device = resolve(settings.device)
    torch.manual_seed(identity.seed)
    encoder, network = _build(identity, device)
    parameters = [p for p in network.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    tokens = TokenArrays.load(places.prepared / "train")
    steps = settings.steps or settings.epochs * (len(tokens) // settings.batch_size)
    autocast = autocast_dtype(settings.precision, device)
    key = run_key({**identity.as_dict(), "dev": dev.version})
    checkpoints = Checkpoints(places.checkpoints, key)
    progress = checkpoints.resume(network, optimiser)
    report(progress.step, steps, None)

    loss_sum = torch.zeros((), device=device)
    batches = batch_indices(len(tokens), settings.batch_size, identity.seed, progress.step)
    while progress.step < steps:
        ids, mask = two_views(tokens, next(batches), identity.data.pad_id)
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * (1 - progress.step / steps)
        with torch.autocast(device.type, autocast, enabled=autocast is not None):
            embeddings = network(ids.to(device), mask.to(device))
        anchor, positive = embeddings.chunk(2)
        loss = objective(anchor, positive)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(parameters, settings.gradient_clip)
        optimiser.step()
        loss_sum += loss.detach()
        progress.step += 1
        last = progress.step == steps
        evaluated = progress.step % settings.evaluate_every == 0 or last
        recorded = progress.step % settings.record_every == 0 or last
        numbers = dynamics(objective, anchor, positive) if evaluated or recorded else {}
        if recorded:
            progress.dynamics.append({"step": progress.step, **numbers})
        row = None
        if evaluated:
            row = {
                "step": progress.step,
                "dev_spearman": dev.score(encoder),
                "loss": float(loss_sum) / (progress.step - progress.evaluated_step),
                **{name: numbers[name] for name in BATCH},
            }
            loss_sum.zero_()
            if progress.add(row):
                checkpoints.save_best(encoder.model)
            checkpoints.save(progress, network, optimiser)
        report(progress.step, steps, row)

    checkpoints.load_best(encoder.model)
    _write(places, encoder, identity, progress, steps)
    checkpoints.remove()
    return progress


def _build(identity: Identity, device: torch.device) -> tuple[SentenceEncoder, TrainingNetwork]:
    """The backbone as encoder, and the network around it that is trained."""
    settings, backbone = identity.settings, identity.backbone
    encoder = SentenceEncoder.load(backbone.source, settings.device, backbone.pooling)
    refuse_without_dropout(encoder, backbone.source)
    if device.type == "cpu":
        # With dropout the fused kernel falls back on a slower way to the same result here.
        encoder.model.set_attn_implementation("eager")
    if encoder.layout.pooling == "cls":
        only_first_token(encoder.model)
    if settings.freeze_embeddings:
        freeze_embeddings(encoder, backbone.source)
    own_std = float(getattr(encoder.model.config, "initializer_range", 0.02))
    head = make_head(settings.head, encoder.dimension, settings.head_std, own_std)
    return encoder, TrainingNetwork(encoder, head).to(device).train()


def _write(
    places: Places, encoder: SentenceEncoder, identity: Identity, progress: Progress, steps: int
) -> None:
    """Write encoder and tables; the folder appears whole, after the tables, or not at all."""
    with replacing(places.model) as folder:
        encoder.save(folder)
        write_record(folder, identity, progress, steps, describe(encoder.model.device))
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
    return run_stage("train", lambda: _run(arguments, places), left)


def _run(arguments: argparse.Namespace, places: Places) -> None:
    places.check()
    name, seed = arguments.objective, arguments.seed
    params = config.load(arguments.params)
    given = {key: getattr(arguments, key) for key in REPLACED}
    replaced = {key: value for key, value in given.items() if value is not None}
    identity = identify(params, name, seed, arguments.prepared, replaced)
    pairs = read_sts_benchmark(Path(params.evaluate.data), "dev")
    try:
        with progress_bar(f"{name}-{seed}") as report:
            progress = train(identity, DevSet(pairs, params.evaluate.batch_size), places, report)
    except (CollapseError, NonFiniteEmbeddingsError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(
            f"{name} with seed {seed} collapsed: {reason}. Try a lower learning rate (now "
            f"{identity.settings.learning_rate}), or another margin, temperature or coefficient "
            f"(now {identity.objective}); no encoder was written."
        ) from error
    sys.stdout.write(
        f"{name}-{seed}: dev Spearman {progress.best_score:.2f} at step {progress.best_step}, "
        f"{progress.rows[-1]['dev_spearman']:.2f} at the last, written to {places.model}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
